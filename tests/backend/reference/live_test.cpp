// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Current PyTorch and transformers load what is exported here; logits, loss and every gradient
// agree, tensor by tensor. Needs PLEAT_REFERENCE_PYTHON, an interpreter that has them: `./pleat.sh
// test --full` makes one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/checkpoint/hf_weights.hpp"
#include "core/environment.hpp"
#include "tests/backend/checkpoint/temporary_folder.hpp"
#include "tests/backend/reference/reference_case.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

constexpr double kTolerance = 1e-5;

std::vector<float> tensor_of(const Safetensors& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  EXPECT_NE(entry, nullptr) << name;
  if (entry == nullptr) return {};
  std::vector<float> values(static_cast<std::size_t>(entry->elements()));
  to_f32(entry->type, file.bytes(*entry), values);
  return values;
}

class Live : public testing::TestWithParam<const char*> {};

TEST_P(Live, ExportedModelComputesTheSameInTransformers) {
  const std::string python = reference_python();
  if (python.empty()) GTEST_SKIP() << "PLEAT_REFERENCE_PYTHON is not set";
  test::ReferenceCase c(GetParam());
  c.model.mtp_layers = 0;  // transformers leaves prediction depths out
  const test::TemporaryFolder folder;
  export_hf_weights(folder.path(), c.model, {},
                    [&](const std::string& name, std::span<float> v) { c.fill(name, v); });
  std::ofstream(folder / "config.json") << c.config;
  const std::string script = (test::kReferenceFolder / "reference.py").string();
  const std::string command = "'" + python + "' -B '" + script + "' live " +
                              GetParam() + " '" + folder.path() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Safetensors theirs(folder / "results.safetensors");

  const test::ReferenceOutcome ours = test::run_case(c, test::fp32_plan());
  EXPECT_LE(test::relative_difference(ours.logits, tensor_of(theirs, "logits")), kTolerance);
  const double loss = static_cast<double>(tensor_of(theirs, "loss").at(0));
  EXPECT_NEAR(ours.result.steps[0].loss, loss, kTolerance * loss);
  EXPECT_EQ(ours.result.gradients.size() + 2, theirs.tensors().size());
  for (const auto& [name, gradient] : ours.result.gradients) {
    EXPECT_LE(test::relative_difference(gradient, tensor_of(theirs, name)), kTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Live,
                         testing::Values("llama", "llama-tied-biased", "mixtral", "qwen2-moe",
                                         "qwen3-moe", "deepseek-v3", "glm4-moe", "dots1",
                                         "ernie4-5-moe"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace pleat
