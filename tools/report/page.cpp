// SPDX-License-Identifier: MIT
#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/page_template.hpp"
#include "report/result_table.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

// ---- Files -------------------------------------------------------------------------------------------

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

// ---- The page ----------------------------------------------------------------------------------------

struct Kind {
    const char* bench;
    const char* title;
    const char* what;
};

// In the order of the page. Benches of other names follow under their own names.
constexpr Kind kinds[] = {
    {"prefill", "Prefill",
     "As many query rows as keys, on the shapes on which attention kernels are usually compared."},
    {"backward", "Backward pass", "The gradients of q, k and v on the shapes of prefill."},
    {"decode", "Decode", "Few query rows against a long cache."},
    {"study", "Study", "Every algorithm on the same inputs over the length of the sequence."},
    {"variants", "Variants", "Masks, windows and score terms. Each runs in turn with its base call on the same path."},
    {"grid", "Paths", "Each path on a grid of shapes."},
    {"long", "One long sequence", "Step by step, each step a submission of its own."},
    {"host", "On the host", "CPU time of recording a call and of making a plan."},
};

size_t orderOf(const std::string& bench) {
    return static_cast<size_t>(
        std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& kind) { return bench == kind.bench; }) -
        std::begin(kinds));
}

// The date without the time.
std::string dayOf(const BenchFile& file) { return file.head("date").substr(0, 10); }

std::string anchorOf(size_t number) { return fmt::format("results-{}", number); }

bool everyOneIsCausal(const Json& results) {
    return !results.empty() && std::all_of(results.begin(), results.end(), [](const Json& result) {
        const auto causal = result.find("causal");
        return causal != result.end() && *causal == true;
    });
}

// "D = 64, 128" or "N = 512 to 16384": the values of a field. "" if no result has it.
std::string valuesText(const Json& results, const char* label, const char* field) {
    std::set<double> values;
    for (const Json& result : results)
        if (const auto value = result.find(field); value != result.end() && value->is_number())
            values.insert(value->get<double>());
    if (values.empty())
        return "";
    constexpr size_t maxListed = 3;
    if (values.size() > maxListed)
        return fmt::format(", {} = {} to {}", label, *values.begin(), *values.rbegin());
    return fmt::format(", {} = {}", label, fmt::join(values, ", "));
}

// The types of k and v count where they differ from the type of q.
std::string typesText(const Json& results) {
    std::vector<std::string> types;
    for (const Json& result : results)
        for (const char* field : {"kvType", "type"})
            if (const auto type = result.find(field); type != result.end() && type->is_string()) {
                if (std::find(types.begin(), types.end(), type->get<std::string>()) == types.end())
                    types.push_back(type->get<std::string>());
                break;
            }
    return types.empty() ? "" : fmt::format(", {}", fmt::join(types, ", "));
}

bool hasGroupedHeads(const Json& results) {
    return std::any_of(results.begin(), results.end(), [](const Json& result) {
        return result.contains("kvHeads") && result.contains("queryHeads") && result["kvHeads"] != result["queryHeads"];
    });
}

// The kind of bench, and its shapes.
std::string shapeTitle(const BenchFile& file) {
    const std::string bench = file.head("bench");
    const size_t order = orderOf(bench);
    const Json& results = file.content["results"];
    std::string title = order < std::size(kinds) ? kinds[order].title : bench;
    title += typesText(results) + valuesText(results, "D", "headDim") + valuesText(results, "N", "queryRows");
    if (bench == "decode")
        title += valuesText(results, "keys", "keys");
    if (hasGroupedHeads(results))
        title += valuesText(results, "heads", "queryHeads") + valuesText(results, "KV heads", "kvHeads");
    title += valuesText(results, "page size", "pageSize");
    return title + (everyOneIsCausal(results) ? ", causal" : "");
}

// Titles of all files, in order. Files with equal shapes on one device are told apart by their names.
std::vector<std::string> titlesOf(const std::vector<const BenchFile*>& files) {
    std::map<std::pair<std::string, std::string>, size_t> counts; // device and title
    for (const BenchFile* file : files)
        ++counts[{file->head("device"), shapeTitle(*file)}];
    std::vector<std::string> titles;
    for (const BenchFile* file : files) {
        titles.push_back(shapeTitle(*file));
        if (counts[{file->head("device"), titles.back()}] > 1)
            titles.back() += fmt::format(" ({})", file->name);
    }
    return titles;
}

std::string leftOut(const BenchFile& file) {
    const auto list = file.content.find("leftOut");
    if (list == file.content.end() || !list->is_array() || list->empty())
        return "";
    static constexpr Column columns[] = {
        {"type", "type"}, {"D", "headDim"}, {"N", "queryRows"}, {"path", "path"}, {"reason", "reason"}};
    if (!std::all_of(list->begin(), list->end(), [](const Json& entry) { return entry.is_object(); }))
        return "";
    return "<h4>Left out</h4>\n" + resultTable(*list, columns);
}

std::string section(const BenchFile& file, const std::string& title, size_t number) {
    const std::string bench = file.head("bench");
    const size_t order = orderOf(bench);
    std::string html = fmt::format("<section id=\"{}\">\n<h3>{}</h3>\n", anchorOf(number), escapeHtml(title));
    if (order < std::size(kinds))
        html += fmt::format("<p>{}</p>\n", kinds[order].what);
    html += fmt::format("<dl><dt>driver</dt><dd>{}</dd><dt>date</dt><dd>{}</dd><dt>commit</dt><dd>{}</dd><dt>file</dt>"
                        "<dd>{}</dd><dt>command</dt><dd><code>{}</code></dd></dl>\n",
                        escapeHtml(file.head("driver")), escapeHtml(file.head("date")), escapeHtml(file.head("commit")),
                        escapeHtml(file.name), escapeHtml(file.head("commandLine")));
    const Json& results = file.content["results"];
    html += peerTable(results);
    html += fmt::format("<details{}>\n<summary>{} results</summary>\n", results.size() <= 12 ? " open" : "",
                        results.size());
    return html + resultTable(results, columnsOf(bench)) + "</details>\n" + leftOut(file) + "</section>\n";
}

std::string textSection(const TextFile& file) {
    return fmt::format("<details>\n<summary>{}</summary>\n<pre tabindex=\"0\">{}</pre>\n</details>\n",
                       escapeHtml(file.name), escapeHtml(file.text));
}

// The picture as the browser takes it without a file. A picture in an <img> runs no script and shares no names with
// others on the page.
std::string figure(const TextFile& file) {
    std::string data;
    for (const char c : file.text) {
        const auto code = static_cast<unsigned char>(c);
        const bool plain = std::isalnum(code) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
        data += plain ? std::string(1, c) : fmt::format("%{:02X}", code);
    }
    const std::string name = escapeHtml(file.name);
    return fmt::format("<figure>\n<img alt=\"{0}\" src=\"data:image/svg+xml,{1}\">\n<figcaption>{0}</figcaption>\n"
                       "</figure>\n",
                       name, data);
}

// A part of the page at its end, with what `show` makes of each file. Nothing if there are no files.
void addPart(const char* anchor, const char* title, const std::vector<TextFile>& files,
             std::string (*show)(const TextFile&), std::string& contents, std::string& sections) {
    if (files.empty())
        return;
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchor, title);
    sections += fmt::format("<h2 id=\"{}\">{}</h2>\n", anchor, title);
    for (const TextFile& file : files)
        sections += show(file);
}

// Order: devices with the newest results first, then the order of `kinds`, then the date.
std::vector<const BenchFile*> inOrder(const ResultFiles& files) {
    std::map<std::string, std::string> newest; // device to date
    for (const BenchFile& file : files.benches)
        newest[file.head("device")] = std::max(newest[file.head("device")], file.head("date"));
    std::vector<const BenchFile*> order;
    for (const BenchFile& file : files.benches)
        order.push_back(&file);
    std::stable_sort(order.begin(), order.end(), [&](const BenchFile* a, const BenchFile* b) {
        const std::string deviceA = a->head("device"), deviceB = b->head("device");
        if (deviceA != deviceB)
            return std::tie(newest[deviceB], deviceB) < std::tie(newest[deviceA], deviceA);
        const size_t kindA = orderOf(a->head("bench")), kindB = orderOf(b->head("bench"));
        return kindA != kindB ? kindA < kindB : a->head("date") < b->head("date");
    });
    return order;
}

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
    return text.replace(text.find(mark), mark.size(), by);
}

} // namespace

ResultFiles loadResults(const std::filesystem::path& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
        if (const auto type = i->path().extension(); type == ".json" || type == ".txt" || type == ".svg")
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
        (path.extension() == ".svg" ? files.figures : files.texts).push_back({name, std::move(text)});
    }
    if (files.benches.empty())
        throw ResultError("holds no report of a bench; `vkflash bench ... --json FILE` writes one");
    return files;
}

std::string reportPage(const ResultFiles& files) {
    std::string contents, sections, device, newest;
    size_t number = 0;
    const std::vector<const BenchFile*> order = inOrder(files);
    const std::vector<std::string> titles = titlesOf(order);
    for (const BenchFile* file : order) {
        newest = std::max(newest, dayOf(*file));
        if (file->head("device") != device) {
            device = file->head("device");
            contents += fmt::format("{}<li>{}<ul>\n", contents.empty() ? "" : "</ul></li>\n", escapeHtml(device));
            sections += fmt::format("<h2>{}</h2>\n", escapeHtml(device));
        }
        contents += fmt::format("<li><a href=\"#{}\">{}</a>, <time>{}</time></li>\n", anchorOf(number),
                                escapeHtml(titles[number]), escapeHtml(dayOf(*file)));
        sections += section(*file, titles[number], number);
        ++number;
    }
    contents += contents.empty() ? "" : "</ul></li>\n";
    addPart("figures", "Figures", files.figures, figure, contents, sections);
    addPart("notes", "Notes and logs", files.texts, textSection, contents, sections);
    const std::string summary = fmt::format("{} bench reports and {} logs{}", files.benches.size(), files.texts.size(),
                                            newest.empty() ? "" : ", the newest of " + escapeHtml(newest));
    std::string page = replaced(pageTemplate, "<!-- summary -->", summary);
    page = replaced(std::move(page), "<!-- contents -->", contents);
    return replaced(std::move(page), "<!-- sections -->", sections);
}

} // namespace vkf::tools
