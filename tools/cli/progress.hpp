// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace vkf::tools {

// A progress bar on stderr for long work. It appears only if stderr is a terminal, or VKFLASH_PROGRESS is set, and two
// seconds have passed, even if nothing was updated by then: a driver may still compile. The destructor erases it.
class Progress {
public:
    explicit Progress(std::string label);
    Progress(const Progress&) = delete;
    Progress(Progress&&) = delete;
    Progress& operator=(const Progress&) = delete;
    Progress& operator=(Progress&&) = delete;
    ~Progress();

    void update(double share); // share of the work that is done, 0 to 1
    void hide();               // erases the bar until the next update, for a line on stdout

private:
    void drawUntilEnd();
    void draw(); // with mutex_ locked, as erase
    void erase();

    std::string label_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool ends_ = false;
    bool hidden_ = false;
    bool visible_ = false;
    double share_ = 0;
    std::thread drawer_; // only on a terminal
};

} // namespace vkf::tools
