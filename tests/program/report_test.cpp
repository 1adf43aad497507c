// SPDX-License-Identifier: MIT
//
// The page of `vkflash report` and the figures of bench/plot.py: their content, and that a browser shows them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text.hpp"
#include "report/result_table.hpp"
#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;

namespace {

Json benchFile(const std::string& bench, Json results) {
    return {{"program", "vkflash 0.1.0"},
            {"bench", bench},
            {"commit", "abc1234"},
            {"date", "2026-01-02T03:04:05Z"},
            {"device", "Imaginary GPU <9>"},
            {"driver", "Driver & Sons 1.2"},
            {"apiVersion", "1.3.0"},
            {"commandLine", "vkflash bench " + bench + std::string(300, 'x')}, // has no place for a line break
            {"tokens", 512},
            {"results", std::move(results)}};
}

Json result(const std::string& path, int rows, double seconds) {
    const double operations = 4.0 * 2 * rows * rows * 64;
    return {{"batch", 512 / rows},
            {"queryHeads", 1},
            {"kvHeads", 1},
            {"queryRows", rows},
            {"keys", rows},
            {"headDim", 64},
            {"type", "f16"},
            {"causal", false},
            {"path", path},
            {"medianSeconds", seconds},
            {"spread", 0.01},
            {"tensorBytes", rows * 1024},
            {"scratchBytes", path == "standard" ? rows * rows * 8 : 0},
            {"predictedBytes", rows * 4096.0},
            {"planBytes", rows * 5000.0},
            {"bytesPerSecond", rows * 4096.0 / seconds},
            {"operations", operations},
            {"teraflops", operations / seconds * 1e-12},
            {"error", 1e-4},
            {"bound", 2e-3},
            {"peers", Json::array({{{"name", "rival"}, {"file", "r.txt"}, {"teraflops", 0.5}, {"ratio", 1.25}}})}};
}

Json severalResults() {
    Json results = Json::array();
    for (const int rows : {128, 256, 512})
        for (const char* path : {"standard", "scalar"})
            results.push_back(result(path, rows, rows * 1e-6));
    return results;
}

// A folder "in" with a file of each kind.
void writeResults(const Workplace& place) {
    std::filesystem::create_directory(place / "in");
    for (const char* bench : {"prefill", "study", "unheard-of"})
        place.write(fmt::format("in/{}.json", bench), benchFile(bench, severalResults()).dump());
    place.write("in/a & b.svg", R"(<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>)");
    place.write("in/notes.txt", "a < b\n" + std::string(500, 'y') + "\n");
    place.write("in/other.json", "{\"a\": 1}");
}

std::filesystem::path repositoryResults() {
    return std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/results";
}

// All files but the README of the folder.
std::vector<std::filesystem::directory_entry> repositoryFiles() {
    std::vector<std::filesystem::directory_entry> files;
    for (const auto& entry : std::filesystem::directory_iterator(repositoryResults())) {
        if (entry.path().filename() != "README.md")
            files.push_back(entry);
    }
    return files;
}

// The page of the results in the repository. It uses all files, without an error.
std::string repositoryPage(const Workplace& place) {
    size_t benches = 0, texts = 0;
    for (const auto& entry : repositoryFiles()) {
        std::ifstream stream(entry.path());
        const bool bench = entry.path().extension() == ".json" && Json::parse(stream).contains("bench");
        ++(bench ? benches : texts);
    }
    const ProgramResult run = place.run(
        std::vector<std::string>{"report", "--results", repositoryResults().string(), "-o", "repository.html"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(run.err.empty());
    CHECK_THAT(run.out, ContainsSubstring(fmt::format("{} bench reports, 0 figures, {} logs", benches, texts)));
    return place.read("repository.html");
}

// The program in an environment variable, else the first of these that runs with these arguments. "" if none does.
std::string findProgram(const char* variable, const std::vector<std::string>& names,
                        const std::vector<std::string>& arguments) {
    std::vector<std::string> candidates = names;
    if (const char* named = std::getenv(variable); named != nullptr && *named != '\0')
        candidates = {named};
    for (const std::string& name : candidates) {
        std::vector<std::string> words = {name};
        words.insert(words.end(), arguments.begin(), arguments.end());
        if (Workplace().runWords(words).status == 0)
            return name;
    }
    return "";
}

std::string findPython() {
    std::string python =
        findProgram("VKFLASH_TEST_PYTHON", {"python3", "/usr/bin/python3"}, {"-c", "import matplotlib"});
    if (python.empty())
        SKIP("no Python with matplotlib (Debian: python3-matplotlib)");
    return python;
}

class Browser {
public:
    explicit Browser(const Workplace& place)
        : place_(place),
          program_(findProgram("VKFLASH_TEST_BROWSER", {"chromium-headless-shell", "chromium", "google-chrome"},
                               {"--version"})) {
        if (program_.empty())
            SKIP("no browser (Debian: chromium-headless-shell)");
    }

    // Bytes of a screenshot. The file stays in `image`.
    size_t screenshot(const std::string& page, int width, const std::string& image) const {
        const ProgramResult result = run(page, width, "--screenshot=" + (place_ / image).string());
        INFO(result.err);
        REQUIRE(result.status == 0);
        REQUIRE(place_.read(image).starts_with("\x89PNG"));
        return place_.read(image).size();
    }

    // The page after its scripts have run.
    std::string document(const std::string& page, int width) const { return run(page, width, "--dump-dom").out; }

private:
    ProgramResult run(const std::string& page, int width, const std::string& what) const {
        return place_.runWords(
            {program_, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--user-data-dir=" + (place_ / "profile").string(),
             fmt::format("--window-size={},1600", width), what, "file://" + (place_ / page).string()});
    }

    const Workplace& place_;
    std::string program_;
};

} // namespace

TEST_CASE("text in a page is never markup", "[report]") {
    CHECK(escapeHtml("a<b>&\"c'\n") == "a&lt;b&gt;&amp;&quot;c&#39;\n");
    CHECK(escapeHtml(std::string("x\0\x1b\x7f\ry", 6)) == "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy");
    CHECK(escapeHtml("µ × –") == "µ × –");
}

TEST_CASE("a table says once what all results have in common", "[report]") {
    const Json results = severalResults();
    const std::string table = resultTable(results, columnsOf("study"));
    CHECK_THAT(table, ContainsSubstring("In every row: type f16, D 64, heads 1") && !ContainsSubstring("<th>type"));
    CHECK_THAT(table, ContainsSubstring("<td class=\"number\">512 us</td>") && ContainsSubstring("<td>scalar</td>"));
    CHECK_THAT(table, !ContainsSubstring("saved")); // a field that no result has
    Json decoded = result("decode", 4, 1e-5);
    decoded.update({{"splits", 8}, {"readSeconds", 8e-6}, {"shareOfRead", 0.8}, {"gigabytesPerSecond", 3000.0}});
    CHECK_THAT(resultTable(Json::array({decoded}), columnsOf("decode")),
               ContainsSubstring("<th class=\"number\">share of reading") && ContainsSubstring("8.00 us"));
    Json masked = result("coopmat", 128, 1e-5);
    masked.update({{"variant", "mask"}, {"base", "plain"}, {"timeRatio", 0.58}, {"aimLimit", 0.6}, {"met", true}});
    CHECK_THAT(resultTable(Json::array({masked}), columnsOf("variants")),
               ContainsSubstring("<td>mask</td>") && ContainsSubstring("0.58×") && ContainsSubstring("<td>yes</td>"));
    Json backward = result("coopmat", 128, 1e-5);
    backward.update({{"keyTile", "subgroups=4 ownedTiles=2"}, {"storedBytesPerSecond", 2.5e12}});
    CHECK_THAT(resultTable(Json::array({backward}), columnsOf("backward")),
               ContainsSubstring("<td>subgroups=4 ownedTiles=2</td>") && ContainsSubstring("rival 0.5 (1.25×)") &&
                   ContainsSubstring("<td class=\"number\">2500 GB/s</td>"));
    // A bench of a later version. The table has every field that fits a cell.
    CHECK_THAT(resultTable(results, columnsOf("unheard-of")),
               ContainsSubstring("<th class=\"number\">queryRows</th>") && !ContainsSubstring("peers"));
    CHECK_THAT(resultTable(Json::array(), columnsOf("study")), ContainsSubstring("No results"));
}

TEST_CASE("a table shows clocks where results have them", "[report]") {
    const char* const heading = "clock, MHz</th>";
    Json results = severalResults();
    CHECK_THAT(resultTable(results, columnsOf("grid")), !ContainsSubstring(heading));
    results[0].update({{"clock_mhz", 1905.0}, {"runs_left_out", 12}}); // the others are of a device that does not tell
    for (const char* const bench : {"grid", "prefill", "backward", "decode", "study"}) {
        INFO(bench);
        CHECK_THAT(resultTable(results, columnsOf(bench)),
                   ContainsSubstring(heading) && ContainsSubstring("<td class=\"number\">1905</td>") &&
                       ContainsSubstring("<td class=\"number\">12</td>") && ContainsSubstring("<td>–</td>"));
    }
}

TEST_CASE("ratios to other implementations are shown as minimum, median and maximum", "[report]") {
    Json results = severalResults();
    results[0]["peers"][0]["ratio"] = 0.5;
    results[1]["peers"][0]["ratio"] = 3;
    const std::string table = peerTable(results);
    CHECK_THAT(table, ContainsSubstring("<td>rival</td><td class=\"number\">6</td><td class=\"number\">0.50×</td>"
                                        "<td class=\"number\">1.25×</td><td class=\"number\">3.00×</td>"));
    for (Json& one : results)
        one["peers"] = Json::array();
    CHECK(peerTable(results).empty());
}

TEST_CASE("report makes one page that needs nothing from outside", "[report]") {
    const Workplace place;
    writeResults(place);
    const ProgramResult run = place.run("report --results in -o page.html");
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(run.err.empty());
    CHECK_THAT(run.out, ContainsSubstring("page.html") && ContainsSubstring("3 bench reports, 1 figures, 2 logs"));
    const std::string page = place.read("page.html");
    CHECK_THAT(page, ContainsSubstring("Imaginary GPU &lt;9&gt;") && ContainsSubstring("Driver &amp; Sons 1.2") &&
                         ContainsSubstring("abc1234") && ContainsSubstring("2026-01-02"));
    CHECK_THAT(page, ContainsSubstring("a &lt; b") && ContainsSubstring("unheard-of") && ContainsSubstring("rival"));
    CHECK_THAT(page, ContainsSubstring("<figcaption>a &amp; b.svg</figcaption>") &&
                         ContainsSubstring("src=\"data:image/svg+xml,%3Csvg%20xmlns%3D%22http%3A%2F%2F"));
    for (const char* outside : {"http:", "https:", "src=\"h", "<svg", "<script", "<link", "@import", "url("}) {
        INFO(outside);
        CHECK_THAT(page, !ContainsSubstring(outside));
    }
    CHECK_THAT(page, !ContainsSubstring("<!-- ")); // every mark of the template is filled in
}

TEST_CASE("every result in the repository is on the page", "[report]") {
    const Workplace place;
    const std::string page = repositoryPage(place);
    CHECK_THAT(page, ContainsSubstring("NVIDIA H200") && ContainsSubstring("cudnn"));
    size_t rows = 0;
    for (const auto& entry : repositoryFiles()) {
        const std::string name = entry.path().filename().string();
        INFO(name);
        const bool json = entry.path().extension() == ".json";
        REQUIRE((json || entry.path().extension() == ".txt")); // nothing else is read
        std::ifstream stream(entry.path());
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        const Json content = json ? Json::parse(text) : Json();
        if (!content.contains("bench")) {
            CHECK(page.find("<summary>" + name + "</summary>") != std::string::npos);
            CHECK(page.find(escapeHtml(text)) != std::string::npos);
            continue;
        }
        CHECK(!columnsOf(content["bench"].get<std::string>()).empty()); // a bench that the page knows
        CHECK_FALSE(content["results"].empty());
        rows += content["results"].size();
        CHECK(page.find("<dd>" + name + "</dd>") != std::string::npos);
        CHECK(page.find(fmt::format("<summary>{} results</summary>", content["results"].size())) != std::string::npos);
        for (const char* field : {"driver", "date", "commit", "commandLine"})
            CHECK(page.find(escapeHtml(content[field].get<std::string>())) != std::string::npos);
        for (const Json& result : content["results"])
            if (result.contains("medianSeconds"))
                CHECK(page.find(timeText(result["medianSeconds"].get<double>())) != std::string::npos);
    }
    const std::regex row("<tr><td"), noNumber(">(-?nan|-?inf|null)\\b");
    CHECK(static_cast<size_t>(std::distance(std::sregex_iterator(page.begin(), page.end(), row), {})) >= rows);
    CHECK(!std::regex_search(page, noNumber));
}

TEST_CASE("a browser shows the page on a phone and on a desk without scrolling sideways", "[report]") {
    const Workplace place;
    const Browser browser(place);
    writeResults(place);
    REQUIRE(place.run("report --results in -o page.html").status == 0);
    place.write("blank.html", "<!doctype html><title>blank</title>");
    const std::vector<std::string> pages = {place.read("page.html"), repositoryPage(place)};
    for (const std::string& page : pages) {
        // Everything is unfolded. A script reports the width of the page.
        std::string probe = page;
        const std::string script =
            "<script>for (const d of document.querySelectorAll('details')) d.open = true;"
            "document.title = 'width ' + document.scrollingElement.scrollWidth + ' of ' + innerWidth + '.'"
            "</script></body>";
        probe.replace(probe.find("</body>"), 7, script);
        place.write("shown.html", page);
        place.write("probe.html", probe);
        for (const int width : {390, 1280}) {
            INFO(width << " pixels");
            const size_t blank = browser.screenshot("blank.html", width, "blank.png");
            CHECK(browser.screenshot("shown.html", width, "page.png") > 5 * blank);
            CHECK_THAT(browser.document("probe.html", width),
                       ContainsSubstring(fmt::format("width {0} of {0}.", width)));
        }
    }
}

TEST_CASE("report names its entries by shape and tells equal shapes apart", "[report]") {
    const Workplace place;
    std::filesystem::create_directory(place / "in");
    place.write("in/early.json", benchFile("prefill", severalResults()).dump());
    place.write("in/late.json", benchFile("prefill", severalResults()).dump());
    Json other = severalResults();
    for (Json& entry : other)
        entry["headDim"] = 256;
    place.write("in/other.json", benchFile("prefill", other).dump());
    REQUIRE(place.run("report --results in").status == 0);
    CHECK_THAT(place.read("report.html"),
               ContainsSubstring("Prefill, f16, D = 64, N = 128, 256, 512 (early.json)</h3>") &&
                   ContainsSubstring("Prefill, f16, D = 64, N = 128, 256, 512 (late.json)</h3>") &&
                   ContainsSubstring("Prefill, f16, D = 256, N = 128, 256, 512</h3>"));
}

TEST_CASE("report and plot.py tell results apart that differ in the type of keys", "[report]") {
    const Workplace place;
    std::filesystem::create_directory(place / "in");
    Json results = severalResults();
    for (Json& entry : severalResults()) {
        entry["kvType"] = "q8_0";
        results.push_back(entry);
    }
    for (const char* bench : {"prefill", "backward", "study"})
        place.write(fmt::format("in/{}.json", bench), benchFile(bench, results).dump());
    REQUIRE(place.run("report --results in").status == 0);
    CHECK_THAT(place.read("report.html"), ContainsSubstring("<th>k, v</th>") && ContainsSubstring("<td>q8_0</td>"));
    const std::string python = findPython();
    const std::string script = (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/plot.py").string();
    for (const std::string figure : {"prefill", "backward", "study"}) {
        INFO(figure);
        const ProgramResult run = place.runWords({python, script, figure, "in/" + figure + ".json", "-o", "a.svg"});
        INFO(run.err);
        REQUIRE(run.status == 0);
        CHECK_THAT(place.read("a.svg"), ContainsSubstring("scalar, k, v q8_0"));
    }
}

TEST_CASE("report marks times at a low clock", "[report]") {
    Json results = severalResults();
    for (Json& entry : results) {
        entry["clock_mhz"] = 1980.0;
        entry["clock_unsteady"] = false;
    }
    CHECK_THAT(resultTable(results, columnsOf("prefill")), !ContainsSubstring("low"));
    results[1]["clock_unsteady"] = true;
    CHECK_THAT(resultTable(results, columnsOf("prefill")), ContainsSubstring("1980 low") && ContainsSubstring("Low: "));
}

TEST_CASE("report refuses what it cannot use and leaves no page", "[report]") {
    const Workplace place;
    for (const char* folder : {"empty", "broken", "headless", "shapeless", "logs"})
        std::filesystem::create_directory(place / folder);
    place.write("broken/a.json", "{\"bench\": ");
    place.write("headless/a.json", R"({"bench": "grid", "results": []})");
    Json shapeless = benchFile("grid", Json::array({1, 2}));
    place.write("shapeless/a.json", shapeless.dump());
    place.write("logs/notes.txt", "no bench");
    checkRefusals(place, {{"report --results logs", "--results logs|no report of a bench"},
                          {"report --results absent", "--results absent|No such file"},
                          {"report --results empty", "--results empty|no report of a bench"},
                          {"report --results broken", "--results broken|a.json|is not valid JSON (byte 11)"},
                          {"report --results headless", "a.json|\"device\" must be a string"},
                          {"report --results shapeless", "a.json|\"results\" must be a list of objects"},
                          {"report --results broken/a.json", "--results broken/a.json|Not a directory"},
                          {"report --results empty -o absent/r.html", "-o absent/r.html|no folder absent"},
                          {"report --results empty -o empty", "-o empty"},
                          {"report extra", "extra"}});
}

TEST_CASE("plot.py draws each figure as SVG and PNG, the same each time", "[report]") {
    const std::string python = findPython();
    const std::string script = (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/plot.py").string();
    const Workplace place;
    writeResults(place);
    for (const char* figure : {"prefill", "study", "roofline", "ledger"})
        for (const char* extension : {"svg", "png"}) {
            INFO(figure << " as " << extension);
            const std::string report = std::string(figure) == "prefill" ? "in/prefill.json" : "in/study.json";
            std::vector<std::string> words = {python, script, figure, report, "-o", fmt::format("a.{}", extension)};
            if (std::string(figure) == "roofline")
                words.insert(words.end(), {"--peak", "10", "--bandwidth", "100"});
            for (const char* name : {"a", "b"}) {
                words[5] = fmt::format("{}.{}", name, extension);
                const ProgramResult run = place.runWords(words);
                INFO(run.err);
                REQUIRE(run.status == 0);
            }
            const std::string image = place.read(fmt::format("a.{}", extension));
            CHECK(image.size() > 10000);
            CHECK(image.starts_with(std::string(extension) == "svg" ? "<?xml" : "\x89PNG"));
            CHECK(image == place.read(fmt::format("b.{}", extension)));
        }
}

TEST_CASE("plot.py names other implementations as the caller says", "[report]") {
    const std::string python = findPython();
    const std::string script = (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/plot.py").string();
    const Workplace place;
    writeResults(place);
    const ProgramResult run =
        place.runWords({python, script, "in/prefill.json", "-o", "a.svg", "--names", "rival=Rival 2,absent=Absent"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    // The SVG holds each text as a comment beside its outlines.
    CHECK_THAT(place.read("a.svg"), ContainsSubstring("<!-- Rival 2 -->") && !ContainsSubstring("<!-- rival -->") &&
                                        !ContainsSubstring("Absent"));
}

TEST_CASE("plot.py leaves results at a low clock out of the figure of prefill", "[report]") {
    const std::string python = findPython();
    const std::string script = (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/plot.py").string();
    const Workplace place;
    const auto figureOf = [&](double clock, double teraflops) {
        Json results = severalResults();
        for (Json& one : results)
            one["clock_mhz"] = 1700.0;
        results[0]["clock_mhz"] = clock;
        results[0]["teraflops"] = teraflops;
        place.write("clocks.json", benchFile("prefill", results).dump());
        const ProgramResult run = place.runWords({python, script, "clocks.json", "-o", "clocks.svg"});
        INFO(run.err);
        REQUIRE(run.status == 0);
        return place.read("clocks.svg");
    };
    CHECK(figureOf(700, 1.0) == figureOf(700, 2.0));
    CHECK(figureOf(1690, 1.0) != figureOf(1690, 2.0));
}

TEST_CASE("plot.py refuses in one line", "[report]") {
    const std::string python = findPython();
    const std::string script = (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/plot.py").string();
    const Workplace place;
    writeResults(place);
    Json broken = benchFile("study", severalResults());
    broken["results"][0].erase("causal");
    place.write("in/broken.json", broken.dump());
    place.write("in/empty.json", benchFile("prefill", Json::array()).dump());
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"in/empty.json"}, "no result of type f16"},
        {{"absent.json"}, "absent.json"},
        {{"in/notes.txt"}, "in/notes.txt"},
        {{"in/study.json"}, "is no report of vkflash bench prefill"},
        {{"in/prefill.json", "-o", "a.pdf"}, "must end in .svg or .png"},
        {{"in/prefill.json", "-o", "absent/a.svg"}, "absent/a.svg"},
        {{"in/prefill.json", "--type", "f64"}, "f64"},
        {{"in/prefill.json", "--names", "rival"}, "--names rival"},
        {{"study", "in/broken.json"}, "is not what vkflash writes"},
        {{"study", "in/study.json", "--dim", "7"}, "no result"},
        {{"roofline", "in/study.json"}, "--peak and --bandwidth"},
        {{"roofline", "in/study.json", "--peak", "nan"}, "--peak nan"}};
    for (const auto& [arguments, word] : cases) {
        INFO(fmt::format("{}", fmt::join(arguments, " ")));
        std::vector<std::string> words = {python, script};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const std::vector<std::string> before = place.files();
        const ProgramResult run = place.runWords(words);
        CHECK(run.status == 1);
        CHECK(isOneLine(run.err));
        CHECK_THAT(run.err, ContainsSubstring(word));
        CHECK(place.files() == before);
    }
}
