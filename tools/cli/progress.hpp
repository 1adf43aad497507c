// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_PROGRESS_HPP
#define VKFLASH_TOOLS_PROGRESS_HPP

#include <chrono>
#include <string>

namespace vkf::tools {

// A progress bar on stderr for long work. It appears only if stderr is a terminal and two seconds have passed. The
// destructor erases it.
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
    using Clock = std::chrono::steady_clock;

    std::string label_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_{};
    bool terminal_;
    bool visible_ = false;
};

} // namespace vkf::tools

#endif
