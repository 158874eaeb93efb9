// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The safetensors format: a file that Python wrote, one that is written here, and broken ones.
#include "backend/checkpoint/safetensors.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/temporary_folder.hpp"

namespace pleat {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
const std::string kSmall =
    std::string(PLEAT_SOURCE_DIR) + "/tests/backend/checkpoint/data/small.safetensors";

std::vector<float> values(const Safetensors& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) return {};
  std::vector<float> out(static_cast<std::size_t>(entry->elements()));
  to_f32(entry->type, file.bytes(*entry), out);
  return out;
}

// The last value is NaN, the others are these, signs of zeros included.
void expect_then_nan(std::vector<float> actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size() + 1);
  EXPECT_TRUE(std::isnan(actual.back()));
  actual.pop_back();
  EXPECT_EQ(actual, expected);
  EXPECT_TRUE(std::signbit(actual[1]));
}

TEST(Safetensors, ReadsWhatPythonWrote) {
  const Safetensors file(kSmall);
  EXPECT_EQ(file.tensors().size(), 12U);
  EXPECT_EQ(file.metadata().at("made"), "by hand");
  EXPECT_EQ(file.find("f32")->shape, (std::vector<std::int64_t>{2, 4}));
  expect_then_nan(values(file, "f64"), {0, -0.0F, 1, -1.5F, 3e-3F, 448, kInf});
  expect_then_nan(values(file, "f32"), {0, -0.0F, 1, -1.5F, 3e-3F, 448, kInf});
  expect_then_nan(values(file, "bf16"), {0, -0.0F, 1, -1.5F, 0.0030059814453125F, 448, kInf});
  expect_then_nan(values(file, "e4m3"), {0, -0.0F, 1, -1.5F, 0.00390625F, 448, 0.001953125F});
  const std::vector<float> half = values(file, "f16"), e5m2 = values(file, "e5m2");
  expect_then_nan({half.begin(), half.begin() + 8}, {0, -0.0F, 1, -1.5F, 0.0030002594F, 448, kInf});
  EXPECT_EQ(half[8], 0x1p-24F);
  EXPECT_EQ(half[9], 65504);
  expect_then_nan({e5m2.begin(), e5m2.begin() + 8}, {0, -0.0F, 1, -1.5F, 0.0029296875F, 448, kInf});
  EXPECT_EQ(e5m2[8], 57344);
  EXPECT_EQ(e5m2[9], 0x1p-16F);
  EXPECT_EQ(values(file, "scalar"), std::vector<float>{2.5F});
  EXPECT_TRUE(file.find("scalar")->shape.empty());
  EXPECT_TRUE(file.bytes(*file.find("empty")).empty());
  EXPECT_EQ(file.find("bool")->type, ElementType::boolean);
  EXPECT_EQ(file.find("u8")->type, ElementType::u8);
  std::int64_t wide = 0;
  std::memcpy(&wide, file.bytes(*file.find("i64")).data(), 8);
  EXPECT_EQ(wide, -(std::int64_t{1} << 40));
  std::int32_t narrow[2] = {};
  std::memcpy(narrow, file.bytes(*file.find("i32")).data(), 8);
  EXPECT_EQ(narrow[0], -7);
  EXPECT_EQ(narrow[1], 8);
  EXPECT_EQ(file.find("none"), nullptr);
}

TEST(Safetensors, HeaderOfOursReadsBack) {
  std::vector<TensorEntry> tensors{{"a \"quoted\" name", ElementType::f32, {2, 3}, 0, 0},
                                   {"b", ElementType::u8, {5}, 0, 0},
                                   {"c", ElementType::f4, {4}, 0, 0}};
  std::string bytes = make_safetensors_header(tensors, {{"key", "value"}});
  EXPECT_EQ(bytes.size() % 8, 0U);
  bytes += std::string(24 + 5 + 2, 'x');
  const SafetensorsHeader header = read_safetensors_header(std::as_bytes(std::span(bytes)), "file");
  ASSERT_EQ(header.tensors.size(), 3U);
  EXPECT_EQ(header.tensors[0].name, "a \"quoted\" name");
  EXPECT_EQ(header.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header.tensors[1].begin, 24U);
  EXPECT_EQ(header.tensors[2].end, 31U);
  EXPECT_EQ(header.metadata.at("key"), "value");
}

TEST(ElementTypes, RoundToNearestEven) {
  const auto through = [](ElementType type, float value) {
    std::byte raw[2];
    from_f32(type, {&value, 1}, raw);
    float back = 0;
    to_f32(type, raw, {&back, 1});
    return back;
  };
  EXPECT_EQ(through(ElementType::bf16, 1.00390625F), 1.0F);       // a tie, to even
  EXPECT_EQ(through(ElementType::bf16, 1.01171875F), 1.015625F);  // a tie, to even
  EXPECT_EQ(through(ElementType::bf16, 3.4e38F), kInf);
  EXPECT_EQ(through(ElementType::f16, 1.00048828125F), 1.0F);
  EXPECT_EQ(through(ElementType::f16, 1.00146484375F), 1.001953125F);
  EXPECT_EQ(through(ElementType::f16, 65519.0F), 65504.0F);
  EXPECT_EQ(through(ElementType::f16, -65520.0F), -kInf);
  EXPECT_EQ(through(ElementType::f16, 0x1p-25F), 0.0F);
  EXPECT_EQ(through(ElementType::f16, 0x1.8p-24F), 0x1p-23F);
  EXPECT_EQ(through(ElementType::f16, 0x1.ff8p-15F), 0x1.ff8p-15F);  // the largest subnormal
  EXPECT_EQ(through(ElementType::f16, 0x1.fffp-15F), 0x1p-14F);
  EXPECT_TRUE(std::isnan(through(ElementType::bf16, NAN)));
  EXPECT_TRUE(std::isnan(through(ElementType::f16, NAN)));
}

// --- broken files

std::string file_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data, '\0');
}

std::string header_problem(const std::string& bytes) {
  try {
    (void)read_safetensors_header(std::as_bytes(std::span(bytes)), "f");
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    return e.what();
  }
  return "accepted";
}

std::string entry(const std::string& type, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, BrokenFilesAreRefused) {
  EXPECT_THAT(header_problem("abc"), HasSubstr("3 bytes are too few"));
  std::string huge(8, '\0');
  const std::uint64_t length = 100'000'001;
  std::memcpy(huge.data(), &length, 8);
  EXPECT_THAT(header_problem(huge), HasSubstr("a header of 100000001 bytes; at most 100000000"));
  EXPECT_THAT(header_problem(file_of("{}", 0).substr(0, 9)), HasSubstr("truncated"));
  EXPECT_THAT(header_problem(file_of("[]", 0)), HasSubstr("no JSON object"));
  EXPECT_THAT(header_problem(file_of("{\"a\":1}", 0)), HasSubstr("a: is no object"));
  EXPECT_EQ(header_problem(file_of("{}", 0)), "accepted");
  EXPECT_THAT(header_problem(file_of("{}", 4)), HasSubstr("4 bytes of data, the tensors cover 0"));
}

TEST(Safetensors, BrokenEntriesAreRefused) {
  const auto one = [](const std::string& value, std::size_t data) {
    return header_problem(file_of("{\"a\":" + value + "}", data));
  };
  EXPECT_EQ(one(entry("F32", "[2]", "[0,8]"), 8), "accepted");
  EXPECT_THAT(one(entry("F33", "[2]", "[0,8]"), 8), HasSubstr("a: unknown dtype \"F33\""));
  EXPECT_THAT(one(entry("F32", "[3]", "[0,8]"), 8),
              HasSubstr("needs 12 bytes, the offsets hold 8"));
  EXPECT_THAT(one(entry("F32", "[-2]", "[0,8]"), 8), HasSubstr("no natural number"));
  EXPECT_THAT(one(entry("F32", "[2.0]", "[0,8]"), 8), HasSubstr("no natural number"));
  EXPECT_THAT(one(entry("F32", "[2]", "[8,0]"), 8), HasSubstr("bytes 8 to 0 of 8"));
  EXPECT_THAT(one(entry("F32", "[2]", "[0,16]"), 8), HasSubstr("bytes 0 to 16 of 8"));
  EXPECT_THAT(one(entry("F32", "[2]", "[0]"), 8), HasSubstr("a begin and an end"));
  EXPECT_THAT(one(entry("F4", "[3]", "[0,2]"), 2), HasSubstr("12 bits are no whole bytes"));
  EXPECT_THAT(one(entry("F32", "[4611686018427387904,4]", "[0,0]"), 0), HasSubstr("64-bit"));
  EXPECT_THAT(one("{\"dtype\":\"F32\",\"shape\":[]}", 0), HasSubstr("exactly dtype, shape"));
  EXPECT_THAT(header_problem(file_of("{\"__metadata__\":{\"a\":1}}", 0)),
              HasSubstr("strings to strings"));
}

TEST(Safetensors, HolesOverlapsAndDuplicatesAreRefused) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return header_problem(file_of("{\"a\":" + a + ",\"b\":" + b + "}", data));
  };
  const std::string first = entry("U8", "[4]", "[0,4]");
  EXPECT_EQ(two(entry("U8", "[4]", "[4,8]"), first, 8), "accepted");
  EXPECT_THAT(two(first, entry("U8", "[4]", "[5,9]"), 9), HasSubstr("begins at byte 5"));
  EXPECT_THAT(two(first, entry("U8", "[4]", "[3,7]"), 7), HasSubstr("begins at byte 3"));
  EXPECT_THAT(header_problem(file_of("{\"a\":" + first + ",\"a\":" + first + "}", 4)),
              HasSubstr("duplicate"));
}

// Bytes changed, inserted and cut at random: refused, or read as what they say, never out of
// bounds.
TEST(Safetensors, DamagedFilesAreRefusedOrRead) {
  const std::string good = test::read_bytes(kSmall);
  std::uint64_t state = 7;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33) % below);
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (std::size_t n = 1 + random(4); n > 0; --n) {
      // Mostly in the header, where the digits are.
      const std::size_t at = random(random(4) == 0 ? bytes.size() : 700);
      const std::size_t what = random(3);
      if (what == 0) bytes[at] = static_cast<char>(random(256));
      if (what == 1) bytes[at] = "0123456789[]{},:\""[random(17)];
      if (what == 2) bytes.erase(at, 1 + random(3));
    }
    try {
      const auto file = std::as_bytes(std::span(bytes));
      const SafetensorsHeader header = read_safetensors_header(file, "f");
      std::uint64_t covered = 0;
      for (const TensorEntry& t : header.tensors) covered += t.end - t.begin;
      EXPECT_LE(covered, bytes.size());
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500);
}

TEST(Safetensors, WhatIsNoFileIsAnIoError) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder / "none", folder.path()}) {
    try {
      const Safetensors file(path);
      ADD_FAILURE() << path;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::device_or_io) << e.what();
    }
  }
}

}  // namespace
}  // namespace pleat
