// SPDX-License-Identifier: MIT
#include "report/result_files.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

std::string textOf(const std::filesystem::path& path) {
    try {
        const std::vector<std::byte> bytes = readFile(path);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } catch (const FormatError& error) {
        throw ResultError(fmt::format("{}: {}", path.filename().string(), error.what()));
    }
}

Json parsed(const std::string& name, const std::string& text) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw ResultError(fmt::format("{}: is not valid JSON (byte {})", name, error.byte));
    }
}

void checkBench(const std::string& name, const Json& content) {
    for (const char* field : {"bench", "device", "driver", "commit", "date", "commandLine"})
        if (!content.contains(field) || !content[field].is_string())
            throw ResultError(fmt::format("{}: \"{}\" must be a string", name, field));
    const auto results = content.find("results");
    const auto isObject = [](const Json& result) { return result.is_object(); };
    if (results == content.end() || !results->is_array() || !std::all_of(results->begin(), results->end(), isObject))
        throw ResultError(fmt::format("{}: \"results\" must be a list of objects", name));
}

} // namespace

ResultFiles loadResults(const std::filesystem::path& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
        if (i->path().extension() == ".json" || i->path().extension() == ".txt")
            paths.push_back(i->path());
    if (error)
        throw ResultError(error.message());
    std::sort(paths.begin(), paths.end());
    ResultFiles files;
    for (const std::filesystem::path& path : paths) {
        const std::string name = path.filename().string();
        std::string text = textOf(path);
        if (path.extension() == ".json")
            if (Json content = parsed(name, text); content.is_object() && content.contains("bench")) {
                checkBench(name, content);
                files.benches.push_back({name, std::move(content)});
                continue;
            }
        files.texts.push_back({name, std::move(text)});
    }
    if (files.benches.empty())
        throw ResultError("holds no report of a bench; `vkflash bench ... --json FILE` writes one");
    return files;
}

} // namespace vkf::tools
