/* SPDX-License-Identifier: MIT
 *
 * What headers of glibc 2.38 make of strtol and its kind: functions that also read binary numbers. Static libraries
 * that were compiled there call them. The build takes this file only if the C library lacks them. */
#include <stdlib.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): names of the C library. */
long __isoc23_strtol(const char* text, char** end, int base);
unsigned long __isoc23_strtoul(const char* text, char** end, int base);
long long __isoc23_strtoll(const char* text, char** end, int base);
unsigned long long __isoc23_strtoull(const char* text, char** end, int base);
/* NOLINTEND(bugprone-reserved-identifier) */

long __isoc23_strtol(const char* text, char** end, int base) { return strtol(text, end, base); }

unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return strtoul(text, end, base); }

long long __isoc23_strtoll(const char* text, char** end, int base) { return strtoll(text, end, base); }

unsigned long long __isoc23_strtoull(const char* text, char** end, int base) { return strtoull(text, end, base); }
