// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pages without a browser: escaping, the policy, figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include "cli/report/html/charts.hpp"
#include "cli/report/html/page.hpp"
#include "cli/report/html/page_words.hpp"
#include "core/json/parse.hpp"

namespace pleat::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string csp_hash(const std::string& text) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  char encoded[64];
  return std::string("sha256-") + sodium_bin2base64(encoded, sizeof encoded, digest, sizeof digest,
                                                    sodium_base64_VARIANT_ORIGINAL);
}

HtmlPage small_page() {
  HtmlPage page("A <b> & \"c\"", "under it");
  page.heading("x < y");
  page.paragraph("</p><script>alert(1)</script>");
  page.table({{{"name", Align::left}, {"count"}}, {{"<i>", "1"}, {"b", "2"}}}, true);
  StackedBars bars;
  bars.categories = {"</script>", "b"};
  bars.series = {{"s", {1, 2}, ""}};
  page.chart(stacked_bars(bars), 300, "a \"chart\"");
  return page;
}

std::string between(const std::string& text, const std::string& from, const std::string& to,
                    std::size_t start = 0) {
  const std::size_t begin = text.find(from, start) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

TEST(HtmlPage, EscapesWhatItIsGiven) {
  const std::string page = small_page().finish({"var Plotly = {};", ""});
  EXPECT_THAT(page, HasSubstr("<title>A &lt;b&gt; &amp; &quot;c&quot;</title>"));
  EXPECT_THAT(page, HasSubstr("<h2>x &lt; y</h2>"));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<td class=\"l\">&lt;i&gt;</td><td>1</td>"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"a &quot;chart&quot;\""));
  // The figure survives its way through the page.
  const std::string figure = between(page, "id=\"chart0-figure\">", "</script>");
  const JsonValue json = parse_json(figure, "figure");
  EXPECT_EQ(*json.find("data")->items().front().find("x")->items().front().as_string(),
            "</script>");
}

TEST(HtmlPage, ThePolicyNamesEveryScriptAndStyleByItsDigest) {
  const std::string page = small_page().finish({"var Plotly = {};", ""});
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  // Of "var Plotly = {};", and of the empty style element that Plotly makes.
  EXPECT_THAT(policy, HasSubstr("'sha256-TqGclYtXXI1m7CWYiISRvjWVn6wAJpBoZHTPPL2na9g='"));
  EXPECT_THAT(policy, HasSubstr("'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
  int scripts = 0;
  for (std::size_t at = page.find("<script>"); at != std::string::npos;
       at = page.find("<script>", at + 1)) {
    ++scripts;
    EXPECT_THAT(policy,
                HasSubstr("'" + csp_hash(between(page, "<script>", "</script>", at)) + "'"));
  }
  EXPECT_EQ(scripts, 2);
  EXPECT_THAT(policy, HasSubstr("'" + csp_hash(between(page, "<style>", "</style>")) + "'"));
}

TEST(HtmlPage, EndsWithTheWordsThatItUses) {
  HtmlPage page("t", "");
  page.table({{{"plan", Align::left}}, {{"TP1 CP2"}}}, false);
  page.paragraph("Goodput is high; tier, not EPISODE.");
  const std::string text = page.finish({});
  for (const char* word : {"<dt>TP, tensor parallel</dt><dd>", "<dt>CP, ", "<dt>goodput</dt>"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
  EXPECT_THAT(text, Not(HasSubstr("<dt>EP, ")));
  EXPECT_THAT(HtmlPage("t", "").finish({}), Not(HasSubstr("Words of this page")));
}

TEST(PageWords, AreFoundBetweenOthersOnly) {
  const std::string_view glossary =
      "# Words\n\n| word | meaning |\n|---|---|\n| GPU-hour (`gh`) | One *hour*. |\n"
      "| mesh, degrees | `A \\| B`. |\n| tier (of a cluster) | A level. |\n";
  const auto used = [&](const char* text) {
    std::string list;
    for (const Word& w : words_used(glossary, text)) list += w.word + ": " + w.meaning + " ";
    return list;
  };
  EXPECT_EQ(used("3 GPU-hours"), "GPU-hour (gh): One hour. ");
  EXPECT_EQ(used("gh2"), "GPU-hour (gh): One hour. ");
  EXPECT_EQ(used("ghost, frontier"), "");
  EXPECT_EQ(used("Degrees of"), "mesh, degrees: A | B. ");
  EXPECT_EQ(used("tiers"), "tier (of a cluster): A level. ");
}

TEST(HtmlPage, LongTextsOfATableWrap) {
  HtmlPage page("t", "");
  page.table({{{"a", Align::left}, {"b", Align::left}}, {{"short", std::string(50, 'x')}}}, true);
  page.command("pleat <x>");
  const std::string text = page.finish({});
  EXPECT_THAT(text, HasSubstr("<td class=\"l\">short</td><td class=\"l prose\">"));
  EXPECT_THAT(text, HasSubstr("<pre class=\"command\">pleat &lt;x&gt;</pre>"));
}

TEST(HtmlPage, SliderScriptsAreNamedByThePolicy) {
  HtmlPage page("t", "");
  page.what_if(JsonValue::object());
  const std::string text = page.finish({});
  const std::size_t second = text.find("<script>", text.find("<script>") + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_THAT(between(text, "Content-Security-Policy\" content=\"", "\""),
              HasSubstr(csp_hash(between(text, "<script>", "</script>", second))));
}

TEST(HtmlPage, SaysWhenThereIsNoChartLibrary) {
  const std::string page = small_page().finish({"", "charts are left out: no <library>"});
  EXPECT_THAT(page, HasSubstr("<p class=\"problem\">charts are left out: no &lt;library&gt;</p>"));
  EXPECT_THAT(page, HasSubstr("<td>2</td>"));
  EXPECT_THAT(HtmlPage("t", "").finish({"", "charts are left out"}), Not(HasSubstr("left out")));
}

TEST(Charts, HistogramBinsHaveAnEdgeAtZeroAndHoldEveryValue) {
  Histogram chart;
  chart.groups = {{"a", {-3.1, 0.4}}, {"b", {7.9}}};
  chart.bin = 2.5;
  const JsonValue figure = histogram(chart);
  for (const JsonValue& trace : figure.find("data")->items()) {
    const JsonValue& bins = *trace.find("xbins");
    const double start = *bins.find("start")->as_double(), end = *bins.find("end")->as_double();
    EXPECT_EQ(start, -5.0);
    EXPECT_GE(end, 7.9);
  }
}

TEST(Charts, LogarithmicAxesAreLabelledWhereTheyAreShortAndLinearWhereValuesAreAlike) {
  Scatter chart{.groups = {{.name = "a", .x = {12, 90}, .y = {4, 6}}}, .logarithmic = true};
  const JsonValue figure = scatter(chart);
  const JsonValue& x = *figure.find("layout")->find("xaxis");
  EXPECT_EQ(*x.find("type")->as_string(), "log");
  std::vector<double> ticks;
  for (const JsonValue& t : x.find("tickvals")->items()) ticks.push_back(*t.as_double());
  EXPECT_EQ(ticks, (std::vector<double>{10, 20, 30, 50, 70}));
  EXPECT_EQ(figure.find("layout")->find("yaxis")->find("type"), nullptr);
  chart.diagonal = true;
  EXPECT_NE(scatter(chart).find("layout")->find("yaxis")->find("type"), nullptr);
  chart.groups[0].x[1] = 1e6;  // Plotly's own labels
  EXPECT_EQ(scatter(chart).find("layout")->find("xaxis")->find("tickvals"), nullptr);
}

TEST(Charts, TornadoBarsStartAtTheBase) {
  Tornado chart;
  chart.inputs = {{"bandwidth", 9, 12}};
  chart.base = 10;
  const JsonValue figure = tornado(chart);
  const auto& data = figure.find("data")->items();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(*data[0].find("base")->as_double(), 10);
  EXPECT_EQ(*data[0].find("x")->items().front().as_double(), -1);
  EXPECT_EQ(*data[1].find("x")->items().front().as_double(), 2);
}

TEST(Charts, TimelineLeavesOutKindsWithoutSlices) {
  Timeline chart;
  chart.rows = {"stage 0", "stage 1"};
  chart.kinds = {{"forward", "#000000", {{1, 0.5, 0.25, "F m0"}}}, {"backward", "", {}}};
  const JsonValue figure = timeline(chart);
  const auto& data = figure.find("data")->items();
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(*data[0].find("y")->items().front().as_string(), "stage 1");
  EXPECT_EQ(*data[0].find("base")->items().front().as_double(), 0.5);
  EXPECT_EQ(*data[0].find("x")->items().front().as_double(), 0.25);
}

}  // namespace
}  // namespace pleat::cli
