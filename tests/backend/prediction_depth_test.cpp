// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What prediction depths read and are held against, by loops of this file alone: layers that add
// nothing make a position's logits a function of its tokens, so that the loss follows from the
// weights in every layout. A label, or an input, one position off shows in the first digits.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using Row = std::vector<double>;

constexpr std::int32_t kEnd = 63;  // ends a document
constexpr std::int64_t kSeq = 16, kSamples = 4;
constexpr double kMtpLoss = 0.3;

// No token follows from its neighbours; documents of 3 to 9 tokens cross the samples' ends.
class Scattered final : public SampleSource {
 public:
  explicit Scattered(bool documents) : documents_(documents) {}
  [[nodiscard]] std::int64_t seq_len() const override { return kSeq; }
  [[nodiscard]] std::int64_t size() const override { return 1000; }
  [[nodiscard]] std::string name() const override { return "scattered tokens"; }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = token(sample, static_cast<std::int64_t>(i));
    }
  }
  [[nodiscard]] std::int32_t token(std::int64_t sample, std::int64_t i) const {
    const std::int64_t place = sample * kSeq + i;
    const bool ends = place % 12 == 2 || place % 12 == 11;
    if (documents_ && ends) return kEnd;
    return static_cast<std::int32_t>((place * place * 7 + place * 31 + 5) % 61);
  }

 private:
  bool documents_;
};

// The weights of the run, as the loops read them.
class Loops {
 public:
  Loops(const ModelSpec& model, const test::Tensors& weights) : model_(model), weights_(weights) {}

  [[nodiscard]] Row embedded(std::int32_t token) const { return row_of("embedding", token); }
  [[nodiscard]] Row normed(const Row& x, const std::string& norm) const {
    const std::vector<float>& w = weights_.at(norm);
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double factor =
        1 / std::sqrt(squares / static_cast<double>(x.size()) + model_.norm_eps);
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor * static_cast<double>(w[i]);
    return y;
  }
  // What depth d makes of what the one before ended with.
  [[nodiscard]] Row next(int d, const Row& before, std::int32_t token) const {
    const std::string prefix = d == 1 ? "mtp." : "mtp." + std::to_string(d - 1) + ".";
    Row both = normed(embedded(token), prefix + "e_norm");
    const Row hidden = normed(before, prefix + "h_norm");
    both.insert(both.end(), hidden.begin(), hidden.end());
    return normed(product(prefix + "proj", both), prefix + "final_norm");
  }
  [[nodiscard]] double cross_entropy(const Row& state, std::int32_t label) const {
    const Row logits = product("head", state);
    double sum = 0;
    for (const double z : logits) sum += std::exp(z);
    return std::log(sum) - logits[static_cast<std::size_t>(label)];
  }

 private:
  [[nodiscard]] Row row_of(const std::string& table, std::int32_t row) const {
    const auto h = static_cast<std::ptrdiff_t>(model_.hidden);
    const auto first = weights_.at(table).begin() + row * h;
    return {first, first + h};
  }
  [[nodiscard]] Row product(const std::string& name, const Row& x) const {
    const std::vector<float>& w = weights_.at(name);
    Row y(w.size() / x.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      y[i / x.size()] += static_cast<double>(w[i]) * x[i % x.size()];
    }
    return y;
  }

  const ModelSpec& model_;
  const test::Tensors& weights_;
};

struct Expected {
  double loss = 0, mtp = 0;
};

Expected expected(const ModelSpec& model, const test::Tensors& weights, const Scattered& data,
                  bool documents) {
  const Loops loops(model, weights);
  std::vector<double> sums(static_cast<std::size_t>(1 + model.mtp_layers));
  double counted = 0;
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    for (std::int64_t i = 0; i < kSeq; ++i) {
      Row state = loops.normed(loops.embedded(data.token(sample, i)), "final_norm");
      for (int d = 0; d <= model.mtp_layers; ++d) {
        // Tokens i … i+d are read, i+1+d is predicted, all of them of one document and of the
        // sample.
        if (i + d >= kSeq || (documents && data.token(sample, i + d) == kEnd)) break;
        if (d > 0) state = loops.next(d, state, data.token(sample, i + d));
        if (d == 0) ++counted;
        sums[static_cast<std::size_t>(d)] +=
            loops.cross_entropy(state, data.token(sample, i + 1 + d));
      }
    }
  }
  // A masked label weighs nothing, and the others all the more, as in the model's own loss.
  const double weight = static_cast<double>(kSamples * kSeq) / counted;
  Expected e{.loss = sums[0] / counted};
  for (int d = 1; d <= model.mtp_layers; ++d) {
    e.mtp += kMtpLoss / static_cast<double>(model.mtp_layers) * weight *
             sums[static_cast<std::size_t>(d)] / static_cast<double>(kSamples * (kSeq - d));
  }
  return e;
}

TrainConfig scattered_config(const std::shared_ptr<const Scattered>& data, bool documents) {
  TrainConfig config = test::small_config(1);
  config.data = data;
  config.adamw = {.lr = 0, .weight_decay = 0};
  if (documents) {
    config.packing = {.end_of_document = kEnd,
                      .reset_positions = true,
                      .reset_attention = true,
                      .mask_loss = true};
  }
  config.adjust_weight = [](const std::string& name, std::span<float> values) {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    for (std::size_t i = 0; i < values.size(); ++i) {
      float& v = values[i];
      if (has("attn_proj") || has("fc2")) v = 0;  // layers add nothing
      if (has("norm")) v = 0.5F + 0.25F * static_cast<float>(i % 5);
      if (name == "head") v *= 30;  // sharp opinions
    }
  };
  return config;
}

std::vector<Plan> depth_layouts() {
  using enum CpComm;
  Plan samples = fp32_plan(2, 2), zero3 = fp32_plan(2, 2);
  samples.micro_batch = 2;
  zero3.sharding = Sharding::zero3;
  Plan gathered = test::folded_plan({1, 2, 1, 1}, 1, 2);
  gathered.cp_comm = all_gather;
  gathered.micro_batch = 2;
  Plan ring = test::folded_plan({1, 4, 1, 1}, 1, 2), both = test::folded_plan({2, 2, 1, 2}, 1, 2);
  Plan heads = test::folded_plan({1, 2, 2, 1}, 1, 4);
  heads.cp_comm = all_to_all;
  return {fp32_plan(), samples,  zero3, fp32_plan(1, 1, 2), test::tp_plan(2),
          gathered,    ring,     both,  heads};
}

class PredictionDepths : public testing::TestWithParam<bool> {};

TEST_P(PredictionDepths, AreHeldAgainstTokensSoFarAhead) {
  const bool documents = GetParam();
  const auto data = std::make_shared<Scattered>(documents);
  const TrainConfig config = scattered_config(data, documents);
  for (const int depths : {1, 3}) {
    ModelSpec model = test::small_moe();
    model.mtp_layers = depths;
    model.mtp_loss = kMtpLoss;
    for (const Plan& plan : depth_layouts()) {
      SCOPED_TRACE(summary(plan));
      const TrainResult result =
          test::run(model, plan, config, {.seq_len = kSeq, .global_batch = kSamples});
      const Expected e = expected(model, result.weights, *data, documents);
      EXPECT_GT(e.loss, 1.2 * std::log(64.0));  // nothing is guessed: every label counts in it
      EXPECT_NEAR(result.steps[0].loss, e.loss, 1e-5 * e.loss);
      EXPECT_NEAR(result.steps[0].extra.mtp, e.mtp, 1e-5 * e.mtp);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, PredictionDepths, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Packed" : "Whole"; });

}  // namespace
}  // namespace pleat
