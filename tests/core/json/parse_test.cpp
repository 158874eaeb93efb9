// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The strict parser: trees with positions, and one golden message for each thing it refuses.
#include "core/json/parse.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace pleat {
namespace {

std::string parse_error_of(const std::string& text) {
  try {
    (void)parse_json(text, "f.json");
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_file);
    return error.what();
  }
  return "accepted";
}

TEST(ParseJson, KeepsOrderTypesAndPositions) {
  const JsonValue root = parse_json(
      "{\n  \"b\": [1, -2.5, \"x\\\"y\", true, null],\n  \"a\": {\"é\": 1, \"z\" : {}}\n}", "f");
  const JsonValue::Object& members = root.members();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].key, "b");
  EXPECT_EQ(members[0].position, (Position{2, 3}));
  const JsonValue::Array& items = members[0].value.items();
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(*items[0].as_integer(), 1);
  EXPECT_EQ(*items[1].as_double(), -2.5);
  EXPECT_EQ(*items[2].as_string(), "x\"y");
  EXPECT_TRUE(*items[3].as_bool());
  EXPECT_TRUE(items[4].is_null());
  EXPECT_EQ(items[0].position(), (Position{2, 9}));
  EXPECT_EQ(items[1].position(), (Position{2, 12}));
  EXPECT_EQ(items[2].position(), (Position{2, 18}));
  EXPECT_EQ(items[4].position(), (Position{2, 32}));
  const JsonValue* a = root.find("a");
  EXPECT_EQ(a->position(), (Position{3, 8}));
  EXPECT_EQ(a->find("z")->position(), (Position{3, 23}));  // é counts as one column
}

// Documents with some of everything, changed at random.
TEST(ParseJson, AgreesWithNlohmannOnChangedDocuments) {
  const std::vector<std::string> documents = {
      R"({"a":[1,-2.5e-3,0.0,true,false,null,""],"b":{"c":{},"d":[[],{}]},)"
      R"("e":"x\"\\\/\b\f\n\r\t"})",
      "[\"\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80\",\"\\u00e9\\u20AC\\uD83D\\uDE00\", 1E+2 ,"
      "1e40, 5e-324]",
      "[1e400, 1e-400]",
      "{\"k\" :\n[ -0, 0, 10, 9223372036854775807 ]\t,\r\n\"l\":-0.0}"};
  const std::string pieces = "{}[]:,\"\\/ \n\t.-+eE019utfnalsb\x01\x7F\xC2\x80\xED\xA0\xFF";
  std::minstd_rand random(7);
  int accepted = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string text = documents[random() % documents.size()];
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      const char piece = pieces[random() % pieces.size()];
      if (const unsigned kind = random() % 3; kind == 0)
        text[at] = piece;
      else if (kind == 1)
        text.insert(at, 1, piece);
      else
        text.erase(at, 1);
    }
    std::string said;
    JsonValue read;
    try {
      read = parse_json(text, "f", {.allow_duplicate_keys = true});
    } catch (const ConfigError& error) {
      said = error.what();
    }
    // Integers beyond 64 bits are refused, and are no matter of syntax.
    const auto says = [&](const char* what) { return said.find(what) != std::string::npos; };
    const bool ours = !says("not valid JSON") && !says("is not a JSON number");
    ASSERT_EQ(ours, nlohmann::json::accept(text)) << text << "\n" << said;
    if (!said.empty()) continue;
    ++accepted;
    // Of members with one key nlohmann keeps the last.
    const auto known = nlohmann::json::parse(text);
    ASSERT_EQ(nlohmann::json::parse(read.dump(0)), known) << text;
    ASSERT_EQ(parse_json(read.dump(2), "f", {.allow_duplicate_keys = true}), read) << text;
  }
  EXPECT_GT(accepted, 2000);
}

TEST(ParseJson, DuplicateKeysAmongMany) {
  std::string text = "{";
  for (int i = 0; i < 40; ++i) text += "\"k" + std::to_string(i) + "\":[{}],";
  EXPECT_EQ(parse_error_of(text + "\"k3\":1}"),
            "error: f.json:1:432: k3: duplicate key; first at line 1, column 32\n"
            "  hint: keep one of the two");
  EXPECT_EQ(parse_error_of("[[1,[2,{\"a\":1,\"a\":2}]]]"),
            "error: f.json:1:15: [0][1][1].a: duplicate key; first at line 1, column 9\n"
            "  hint: keep one of the two");
}

TEST(ParseJson, ScalarRootsAndByteOrderMark) {
  EXPECT_EQ(*parse_json("9223372036854775807", "f").as_integer(), INT64_MAX);
  EXPECT_EQ(*parse_json("-9223372036854775808", "f").as_integer(), INT64_MIN);
  EXPECT_EQ(*parse_json("\xEF\xBB\xBF{\"a\":1}", "f").find("a")->as_integer(), 1);
  EXPECT_EQ(*parse_json("{\"a\":\r\n1}\r\n", "f").find("a")->as_integer(), 1);
}

TEST(ParseJson, NotANumber) {
  EXPECT_EQ(parse_error_of("{\n \"x\": NaN,\n \"y\": -Infinity\n}"),
            "error: f.json:2:7: NaN is not a JSON number\n  hint: write a finite number\n"
            "error: f.json:3:7: -Infinity is not a JSON number\n  hint: write a finite number");
  EXPECT_EQ(parse_error_of("{\"a\": {\"x\": [1, 1e400]}}"),
            "error: f.json:1:17: a.x[1]: 1e400 is not a JSON number: too large for a double");
  EXPECT_EQ(parse_error_of("[nan]"), "error: f.json:1:2: [0]: nan is not a JSON number");
}

TEST(ParseJson, NonFiniteOnlyWhereAllowed) {
  const JsonValue root = parse_json("{\"limit\": [0.0, Infinity], \"s\": \"NaN\", \"n\": 1}", "f",
                                    {.allow_non_finite = true});
  EXPECT_GT(*root.find("limit")->items()[1].as_double(), 1e308);
  EXPECT_EQ(*root.find("s")->as_string(), "NaN");
  EXPECT_EQ(*root.find("n")->as_integer(), 1);
  EXPECT_EQ(root.find("n")->position(), (Position{1, 45}));
}

TEST(ParseJson, DuplicateKeysNameBothPlaces) {
  EXPECT_EQ(parse_error_of("{\"plan\": {\n  \"tp\": 1,\n  \"pp\": 2,\n  \"tp\": 4\n}, \"tp\": 1}"),
            "error: f.json:4:3: plan.tp: duplicate key; first at line 2, column 3\n"
            "  hint: keep one of the two");
  EXPECT_EQ(parse_error_of("{\"a\":1,\"\\u0061\":2}"),
            "error: f.json:1:8: a: duplicate key; first at line 1, column 2\n  hint: keep one of "
            "the two");
}

TEST(ParseJson, IntegersBeyond64Bits) {
  EXPECT_EQ(parse_error_of("{\"h\": 9223372036854775808}"),
            "error: f.json:1:7: h: 9223372036854775808 does not fit a 64-bit integer");
  EXPECT_EQ(parse_error_of("{\"h\": 18446744073709551616, \"i\": -9223372036854775809}"),
            "error: f.json:1:7: h: 18446744073709551616 does not fit a 64-bit integer\n"
            "error: f.json:1:34: i: -9223372036854775809 does not fit a 64-bit integer");
}

TEST(ParseJson, Limits) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parse_error_of(nested(64)), "accepted");
  EXPECT_EQ(parse_error_of(nested(65)), "error: f.json:1:65: nested deeper than 64 levels");
  EXPECT_EQ(parse_error_of(std::string(2'000'000, '[')),
            "error: f.json:1:65: nested deeper than 64 levels");
  EXPECT_EQ(parse_error_of("\"" + std::string(kMaxJsonString, 'a') + "\""), "accepted");
  EXPECT_EQ(parse_error_of("\"" + std::string(kMaxJsonString + 1, 'a') + "\""),
            "error: f.json:1:1: string of 1048577 bytes; at most 1048576 are allowed");
  std::string many = "[0";
  for (std::size_t i = 1; i < kMaxJsonItems; ++i) many += ",0";
  EXPECT_EQ(parse_error_of(many + "]"), "accepted");
  EXPECT_EQ(parse_error_of(many + ",0]"),
            "error: f.json:1:1: [1000001]: more than 1000000 entries in one array or object");
  EXPECT_EQ(parse_error_of(std::string(kMaxFileBytes + 1, ' ')),
            "error: f.json: 16777217 bytes; at most 16777216 are allowed");
}

TEST(ParseJson, SyntaxErrorsHavePlaceAndLine) {
  for (const char* bad : {"", "{\"a\":1,}", "[1 2]", "{\"a\" 1}", "{'a':1}", "// c\n1", "[1]]",
                          "tru", "\"\xFF\"", "\"\\ud800\"", "{\"a\":", "01", "+1", ".5"}) {
    const std::string message = parse_error_of(bad);
    EXPECT_NE(message.find("error: f.json:"), std::string::npos) << bad << " gave " << message;
    EXPECT_NE(message.find("not valid JSON"), std::string::npos) << bad << " gave " << message;
  }
  const std::string message = parse_error_of("{\n  \"a\": 1,\n  \"b\": ,\n}");
  EXPECT_EQ(message.find("error: f.json:3:8: b: not valid JSON: "), 0U) << message;
  EXPECT_NE(message.find("hint: the line reads:   \"b\": ,"), std::string::npos) << message;
}

TEST(JsonValue, DumpReadsBack) {
  JsonValue value = JsonValue::object();
  value.set("n", 1)
      .set("x", 0.1)
      .set("whole", 2.0)
      .set("s", "a\"\n\x01")
      .set("list", JsonValue::array());
  value.set("n", 7);  // replaces in place
  JsonValue list = JsonValue::array();
  list.push_back(1).push_back("two").push_back(JsonValue()).push_back(true);
  value.set("list", list).set("nested", JsonValue::object().set("e", JsonValue::object()));
  EXPECT_EQ(value.dump(),
            "{\n  \"n\": 7,\n  \"x\": 0.1,\n  \"whole\": 2.0,\n  \"s\": \"a\\\"\\n\\u0001\",\n"
            "  \"list\": [1, \"two\", null, true],\n  \"nested\": {\n    \"e\": {}\n  }\n}");
  EXPECT_EQ(parse_json(value.dump(), "f"), value);
  EXPECT_EQ(parse_json(value.dump(0), "f"), value);
  for (double x : {1e-300, 5e-324, 1.7976931348623157e308, 1.0 / 3, -0.5, 1e22}) {
    EXPECT_EQ(*parse_json(JsonValue(x).dump(), "f").as_double(), x);
  }
}

}  // namespace
}  // namespace pleat
