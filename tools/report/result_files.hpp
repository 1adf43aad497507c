// SPDX-License-Identifier: MIT
//
// The files of a folder of results, as a report shows them.
#ifndef VKFLASH_TOOLS_REPORT_RESULT_FILES_HPP
#define VKFLASH_TOOLS_REPORT_RESULT_FILES_HPP

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vkf::tools {

// What a bench wrote with --json. Head and results have been checked: strings, and a list of objects.
struct BenchFile {
    std::string name; // without folder
    nlohmann::ordered_json content;

    std::string head(const char* field) const { return content.at(field).get<std::string>(); }
};

struct TextFile {
    std::string name;
    std::string text;
};

struct ResultFiles {
    std::vector<BenchFile> benches; // by name
    std::vector<TextFile> texts;    // .txt, and JSON that is no bench's; by name
};

// A folder or file that cannot be used. The text is a line that names it.
class ResultError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// ResultError if there is no such folder, nothing in it, or a JSON file in it is not what it should be.
ResultFiles loadResults(const std::filesystem::path& folder);

} // namespace vkf::tools

#endif
