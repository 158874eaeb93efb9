// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/page.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/report/html/page_assets.hpp"
#include "cli/report/html/page_words.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kProse = 40;  // characters of a cell that is read, not looked up

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON inside a script element: nothing in it may look like its end or a comment.
std::string embedded(const JsonValue& json) {
  std::string out;
  for (const char c : json.dump(0)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

// "sha256-47DEQpj8…=", as Content-Security-Policy names a script or a style.
std::string csp_hash(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size());
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string encoded(sodium_base64_encoded_len(digest.size(), kVariant), '\0');
  sodium_bin2base64(encoded.data(), encoded.size(), digest.data(), digest.size(), kVariant);
  encoded.pop_back();  // the terminator
  return "sha256-" + encoded;
}

std::string script(const std::string& text) { return "<script>" + text + "</script>\n"; }

}  // namespace

ChartLibrary load_chart_library() {
  const std::string path = chart_library_path();
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) {
    return {"", "charts are left out: there is no " + path +
                    "; ./pleat.sh installs it, or PLEAT_PLOTLY names a plotly.min.js"};
  }
  ChartLibrary library{read_text_file(path), ""};
  // It is put into a script element as it is.
  if (library.script.find("</script") != std::string::npos) {
    return {"", "charts are left out: " + path + " cannot be embedded in a page"};
  }
  return library;
}

HtmlPage::HtmlPage(std::string title, std::string subtitle) : title_(std::move(title)) {
  body_ = "<h1>" + escaped(title_) + "</h1>\n";
  if (!subtitle.empty()) body_ += "<p class=\"subtitle\">" + escaped(subtitle) + "</p>\n";
}

void HtmlPage::heading(const std::string& text) {
  body_ += "<h2>" + escaped(text) + "</h2>\n";
  text_ += text + "\n";
}

void HtmlPage::paragraph(const std::string& text) {
  body_ += "<p>" + escaped(text) + "</p>\n";
  text_ += text + "\n";
}

void HtmlPage::command(const std::string& text) {
  body_ += "<pre class=\"command\">" + escaped(text) + "</pre>\n";
}

void HtmlPage::what_if(const JsonValue& data) {
  body_ += "<div id=\"what-if\"></div>\n<script type=\"application/json\" id=\"what-if-data\">" +
           embedded(data) + "</script>\n";
  what_if_ = true;
}

void HtmlPage::table(const Table& table, bool filters) {
  // Long texts wrap, so that what stands beside them is seen.
  std::vector<const char*> kinds;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool prose = std::ranges::any_of(
        table.rows, [&](const auto& row) { return row[i].size() > kProse; });
    kinds.push_back(table.columns[i].align != Align::left ? ""
                    : prose                               ? " class=\"l prose\""
                                                          : " class=\"l\"");
    text_ += table.columns[i].title + "\n";
  }
  for (const auto& row : table.rows) {
    for (const std::string& cell : row) text_ += cell + "\n";
  }
  body_ += fmt::format("<div class=\"scroll\"><table id=\"table{}\"{}><thead><tr>", tables_++,
                       filters ? " class=\"filters\"" : "");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    body_ += fmt::format("<th scope=\"col\"{}>{}</th>", kinds[i], escaped(table.columns[i].title));
  }
  body_ += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      body_ += fmt::format("<td{}>{}</td>", kinds[i], escaped(row[i]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::chart(const JsonValue& figure, int height, const std::string& what) {
  body_ += fmt::format(
      "<div class=\"chart\" id=\"chart{0}\" role=\"img\" aria-label=\"{1}\" data-height=\"{2}\">"
      "</div>\n<script type=\"application/json\" id=\"chart{0}-figure\">{3}</script>\n",
      charts_++, escaped(what), height, embedded(figure));
}

void HtmlPage::add_words(std::string& page) const {
  const std::vector<Word> words = words_used(kGlossary, text_);
  if (words.empty()) return;
  page += "<details class=\"words\"><summary>Words of this page</summary><dl>\n";
  for (const Word& w : words) {
    page += "<dt>" + escaped(w.word) + "</dt><dd>" + escaped(w.meaning) + "</dd>\n";
  }
  page += "</dl></details>\n";
}

std::string HtmlPage::finish(const ChartLibrary& library) const {
  const bool draws = charts_ > 0 && !library.script.empty();
  // Plotly puts its rules into a style element that is empty at first: the digest of nothing.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src '{}'{}{}; style-src '{}' '{}'; img-src data:; "
      "base-uri 'none'; form-action 'none'",
      csp_hash(kPageScript), draws ? " '" + csp_hash(library.script) + "'" : "",
      what_if_ ? " '" + csp_hash(kWhatIfScript) + "'" : "",
      csp_hash(kPageStyle), csp_hash(""));
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>" + escaped(title_) + "</title>\n<style>" + std::string(kPageStyle) +
          "</style>\n</head>\n<body>\n";
  page += body_;
  add_words(page);
  if (charts_ > 0 && !draws) page += "<p class=\"problem\">" + escaped(library.problem) + "</p>\n";
  if (draws) page += script(library.script);
  page += script(std::string(kPageScript));
  if (what_if_) page += script(std::string(kWhatIfScript));
  return page + "</body>\n</html>\n";
}

void write_page(const std::string& path, const HtmlPage& page) {
  const ChartLibrary library = load_chart_library();
  if (!library.problem.empty()) note("note: " + library.problem);
  write_and_say(path, page.finish(library));
}

}  // namespace pleat::cli
