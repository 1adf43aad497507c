// SPDX-License-Identifier: MIT
//
// Makes one HTML page from a folder of results. The page contains its style and pictures, loads nothing, and has no
// scripts.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vkf::tools {

// A report that a bench wrote with --json. The reader has checked it: head fields are strings, and results are a list
// of objects.
struct BenchFile {
    std::string name; // file name without folder
    nlohmann::ordered_json content;

    std::string head(const char* field) const { return content.at(field).get<std::string>(); }
};

struct TextFile {
    std::string name;
    std::string text;
};

struct ResultFiles {
    std::vector<BenchFile> benches; // sorted by name
    std::vector<TextFile> texts;    // .txt files and JSON files that are not bench reports; sorted by name
    std::vector<TextFile> figures;  // .svg files; sorted by name
};

// A folder or file that cannot be used. The text is one line with its name.
class ResultError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws ResultError if the folder does not exist, has no report of a bench, or has an unexpected JSON file.
ResultFiles loadResults(const std::filesystem::path& folder);

std::string reportPage(const ResultFiles& files);

} // namespace vkf::tools
