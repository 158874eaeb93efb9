// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/typical_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

struct Asked {
  const char* name;
  double total, active;
};

// Counted by the same formulas as any model's, from the configuration alone.
TEST(TypicalModel, HasTheParametersOfItsName) {
  for (const Asked& a : {Asked{"30B-A3B", 30e9, 3e9}, Asked{"120B-A5B", 120e9, 5e9},
                         Asked{"235B-A22B", 235e9, 22e9}, Asked{"400B-A20B", 400e9, 20e9},
                         Asked{"671B-A37B", 671e9, 37e9}, Asked{"1T-A32B", 1e12, 32e9},
                         Asked{"10T-A200B", 1e13, 2e11}, Asked{"47b-a13b", 47e9, 13e9},
                         Asked{"8B", 8e9, 8e9}, Asked{"70B", 70e9, 70e9},
                         Asked{"1.5T", 1.5e12, 1.5e12}}) {
    const ModelSpec m = load_model(a.name).model;
    const ParameterCount count = count_parameters(m);
    EXPECT_NEAR(static_cast<double>(count.total), a.total, 0.03 * a.total) << a.name;
    EXPECT_NEAR(static_cast<double>(count.active), a.active, 0.03 * a.active) << a.name;
    EXPECT_EQ(m.name, a.name);
    EXPECT_EQ(m.moe.has_value(), a.total != a.active) << a.name;
    EXPECT_EQ(m.attention.heads % 8, 0) << a.name;
    const std::int64_t experts = m.moe ? m.moe->experts : 0;
    EXPECT_EQ(experts % 8, 0) << a.name;
  }
}

// Shapes near those of published models of that size.
TEST(TypicalModel, LooksLikeOthersOfItsSize) {
  const ModelSpec dense = load_model("70B").model;  // Llama 3 70B: 80 layers of 8,192
  EXPECT_NEAR(static_cast<double>(dense.hidden), 8192, 0.15 * 8192);
  EXPECT_NEAR(static_cast<double>(dense.layers), 80, 0.25 * 80);
  const ModelSpec moe = load_model("235B-A22B").model;  // Qwen3: 94 layers of 4,096, 128 experts
  EXPECT_NEAR(std::log(static_cast<double>(moe.hidden) / 4096), 0, 0.5);
  EXPECT_NEAR(std::log(static_cast<double>(moe.layers) / 94), 0, 0.5);
  EXPECT_EQ(moe.moe->top_k, 8);
}

TEST(TypicalModel, OtherNamesAreNone) {
  for (const char* name : {"", "B", "400", "400B-20B", "400B-A400B", "20B-A30B", "400B-A20Bx",
                           "mixtral-8x7b", "-1B", "nanB", "infB", "0.1B", "1e30B", "7B.json"}) {
    EXPECT_FALSE(typical_model(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace pleat
