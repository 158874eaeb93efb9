// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Typed reading: every problem of a document at once, each with its path and place.
#include "core/json/object_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json/parse.hpp"

namespace pleat {
namespace {

struct Document {
  explicit Document(const std::string& text)
      : root(parse_json(text, file, {.allow_non_finite = true})),
        reader(root, "", {file, problems}) {}
  std::string text() const { return ConfigError(problems.list()).what(); }

  std::string file = "f.json";
  JsonValue root;
  Diagnostics problems;
  ObjectReader reader;
};

TEST(ObjectReader, ReadsEveryType) {
  Document d(
      R"({"i": 3, "x": 2, "b": true, "s": "hi", "c": "two",
                  "q": "5 us", "o": {"y": 0.5}, "l": [1], "z": null})");
  EXPECT_EQ(d.reader.integer("i", {1, 3}), 3);
  EXPECT_EQ(d.reader.number("x"), 2.0);
  EXPECT_TRUE(d.reader.boolean("b"));
  EXPECT_EQ(d.reader.text("s"), "hi");
  EXPECT_EQ(d.reader.choice("c", {"one", "two"}), 1U);
  EXPECT_EQ(d.reader.quantity<Seconds>("q"), Seconds(5e-6));
  ObjectReader o = d.reader.object("o");
  EXPECT_EQ(o.number("y", kFraction), 0.5);
  o.finish();
  EXPECT_EQ(d.reader.array("l").size(), 1U);
  EXPECT_FALSE(d.reader.optional_integer("z").has_value());
  EXPECT_FALSE(d.reader.optional_text("absent").has_value());
  d.reader.finish();
  EXPECT_TRUE(d.problems.list().empty()) << d.text();
}

TEST(ObjectReader, ReportsAllProblemsAtOnce) {
  Document d(
      "{\"i\": 8.9,\n\"j\": 4294967297,\n\"k\": -1,\n\"t\": true,\n\"e\": 1.7,\n\"n\": "
      "NaN,\n\"o\": {\"deep\": []}}");
  (void)d.reader.integer("i");
  (void)d.reader.integer("j", {0, 1000});
  (void)d.reader.integer("k", {1, 64});
  (void)d.reader.integer("t");
  (void)d.reader.number("e", kFraction);
  (void)d.reader.number("n");
  ObjectReader o = d.reader.object("o");
  (void)o.text("deep");
  (void)o.boolean("gone");
  (void)d.reader.object("also_gone").integer("x");
  d.reader.finish();
  EXPECT_EQ(
      d.text(),
      "error: f.json:1:7: i: must be an integer, not 8.9\n"
      "error: f.json:2:6: j: 4294967297 is out of range\n  hint: allowed: from 0 to 1000\n"
      "error: f.json:3:6: k: -1 is out of range\n  hint: allowed: from 1 to 64\n"
      "error: f.json:4:6: t: must be an integer, not true\n"
      "error: f.json:5:6: e: 1.7 is out of range\n  hint: allowed: at least 0.0001, at most 1\n"
      "error: f.json:6:6: n: NaN is not a JSON number\n"
      "error: f.json:7:15: o.deep: must be a string, not an array\n"
      "error: f.json:7:6: o.gone: missing\n"
      "error: f.json:1:1: also_gone: missing");
}

TEST(ObjectReader, EachObjectOfAListHasItsPlaceInThePath) {
  Document d(R"({"o": {"l": [{"x": 1}, 2, {"x": 3, "y": 4}]}})");
  ObjectReader o = d.reader.object("o");
  std::vector<std::int64_t> read;
  o.each_object("l", [&](ObjectReader one) {
    read.push_back(one.integer("x"));
    one.finish();
  });
  o.each_optional_object("absent", [&](const ObjectReader&) { read.push_back(9); });
  EXPECT_EQ(read, (std::vector<std::int64_t>{1, 0, 3}));
  std::vector<std::string> paths;
  for (const Diagnostic& p : d.problems.list()) paths.push_back(p.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"o.l[1]", "o.l[2].y"}));
}

TEST(ObjectReader, UnknownFieldsGetASuggestion) {
  Document d("{\"dense\": 1,\n \"expret\": 2, \"zzzzzzzz\": 3}");
  (void)d.reader.integer("dense");
  (void)d.reader.optional_integer("expert");
  d.reader.finish();
  EXPECT_EQ(d.text(),
            "error: f.json:2:2: expret: unknown field; did you mean expert?\n"
            "  hint: known fields: dense, expert\n"
            "error: f.json:2:15: zzzzzzzz: unknown field\n  hint: known fields: dense, expert");
}

TEST(ObjectReader, UnknownChoice) {
  Document d(R"({"c": "megatrn"})");
  (void)d.reader.choice("c", {"pleat", "megatron"});
  EXPECT_EQ(d.text(),
            "error: f.json:1:7: c: unknown value \"megatrn\"; did you mean \"megatron\"?\n"
            "  hint: one of: pleat, megatron");
}

TEST(ObjectReader, RootThatIsNoObject) {
  Document d("[1]");
  (void)d.reader.integer("a");
  d.reader.finish();
  EXPECT_EQ(d.text(), "error: f.json:1:1: must be an object, not an array");
}

TEST(ObjectReader, SchemaVersion) {
  Document d(R"({"schema_version": 2})");
  d.reader.schema_version(1);
  EXPECT_EQ(d.text(),
            "error: f.json:1:20: schema_version: 2 cannot be read\n"
            "  hint: this version of pleat reads schema_version 1");
}

}  // namespace
}  // namespace pleat
