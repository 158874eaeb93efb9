// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The file of published number formats: what ships, what is wrong with one, and what it tells of a
// plan.
#include "core/plan/published_numerics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kShipped = "configs/numerics/published.json";

PublishedNumerics shipped() { return read_published_numerics(read_text_file(kShipped), kShipped); }

std::string problem_of(const std::string& text) {
  try {
    (void)read_published_numerics(text, "formats.json");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "nothing is wrong";
}

std::string file_with(const std::string& recipe) {
  return R"({"schema_version": 1, "effects": [], "recipes": [)" + recipe + "]}";
}

std::vector<std::string> names_of(const std::vector<NumericsRecipe>& recipes) {
  std::vector<std::string> names;
  for (const NumericsRecipe& r : recipes) names.push_back(r.name);
  return names;
}

TEST(PublishedNumerics, FieldsAreNamedWhereTheyAreWrong) {
  EXPECT_THAT(problem_of(file_with(R"({"name": "a", "gpus": ["x"], "source": "s",
                                       "numerics": {"precision": "fp7"}})")),
              HasSubstr("recipes[0].numerics.precision"));
  EXPECT_THAT(
      problem_of(file_with(R"({"name": "a", "gpus": ["x"], "source": "s",
                                       "numerics": {"optimizer": {"exp_avgs": "bf16"}}})")),
      HasSubstr("recipes[0].numerics.optimizer.exp_avgs: unknown field; did you mean exp_avg?"));
  EXPECT_THAT(problem_of(file_with(R"({"name": "a", "gpus": [], "source": "s",
                                       "numerics": {"fp8_head": true}})")),
              HasSubstr("recipes[0].gpus: names no GPU"));
  EXPECT_THAT(
      problem_of(file_with(R"({"name": "a", "gpus": ["x"], "source": "s", "numerics": {}})")),
      HasSubstr("recipes[0].numerics: names no field"));
  // What changes no numbers is not in such a file.
  EXPECT_THAT(problem_of(file_with(R"({"name": "a", "gpus": ["x"], "source": "s",
                                       "numerics": {"vpp": 2}})")),
              HasSubstr("recipes[0].numerics.vpp: unknown field"));
  const std::string one =
      R"({"name": "a", "gpus": ["x"], "source": "s", "numerics": {"fp8_head": true}})";
  EXPECT_THAT(problem_of(file_with(one + "," + one)),
              HasSubstr("recipes[1].name: a is there twice"));
  EXPECT_EQ(problem_of(file_with(one)), "nothing is wrong");
}

TEST(PublishedNumerics, RecipesOfTheFamilyComeBeforeThoseOfAny) {
  const PublishedNumerics all = shipped();
  EXPECT_THAT(names_of(recipes_of(all, "gb300-nvl72", "deepseek_v3")),
              ElementsAre("deepseek-v3-gb300"));
  EXPECT_THAT(names_of(recipes_of(all, "gb300-nvl72", "some_other")),
              ElementsAre("bridge-performance-recipes"));
  EXPECT_THAT(recipes_of(all, "a100-sxm", "llama"), IsEmpty());
}

TEST(PublishedNumerics, EachEntryHasItsSource) {
  for (const NumericsRecipe& r : shipped().recipes) {
    EXPECT_FALSE(r.source.empty()) << r.name;
    EXPECT_FALSE(r.values.empty()) << r.name;
  }
}

// Whatever a search chooses, its risk is told.
TEST(PublishedNumerics, EveryFormatHasAnEffect) {
  const PublishedNumerics all = shipped();
  for_each_numerics_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    const Numerics plain;
    const auto expect_told = [&](const Value& value) {
      Numerics other;
      field.in_numerics(other) = value;
      if (other == plain) return;
      for (const NumericsEffect& e : effects_of(all, plain, other)) {
        EXPECT_FALSE(e.risk.empty()) << field.path << " " << value_text({i, other});
        EXPECT_FALSE(e.source.empty()) << field.path;
      }
    };
    if constexpr (std::is_same_v<Value, bool>) {
      expect_told(!field.in_numerics(plain));
    } else if constexpr (std::is_same_v<Value, Precision>) {
      for (int p = 0; p <= static_cast<int>(Precision::nvfp4); ++p) expect_told(Precision(p));
    } else if constexpr (requires { field.domain.offered; }) {
      for (std::size_t k = 0; k < field.domain.offered; ++k) expect_told(field.domain.types[k]);
    }
  });
}

TEST(PublishedNumerics, TwoMomentsAreToldTogether) {
  Numerics other;
  other.optimizer.main_grads = other.optimizer.exp_avg = other.optimizer.exp_avg_sq = DType::bf16;
  EXPECT_EQ(listed_words(effects_of(shipped(), {}, other)), "bf16 gradients, bf16 moments");
  other.optimizer.exp_avg_sq = DType::fp8;
  EXPECT_EQ(listed_words(effects_of(shipped(), {}, other)),
            "bf16 gradients, bf16 first moment, fp8 second moment");
  // What both have is no change.
  EXPECT_EQ(listed_words(effects_of(shipped(), other, other)), "");
}

}  // namespace
}  // namespace pleat
