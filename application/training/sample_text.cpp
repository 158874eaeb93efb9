// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/sample_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "application/training/earlier_run.hpp"
#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/hf_weights.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"
#include "backend/execute/executor.hpp"
#include "backend/trainer.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "core/program/evaluation.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kUsualContext = 256;

// The last tokens of a text, as the one sample of a batch. What is behind them is never looked at.
class Window final : public SampleSource {
 public:
  explicit Window(std::int64_t seq_len) : seq_len_(seq_len) {}
  // Returns the place of the text's last token.
  std::int64_t show(const std::vector<std::int32_t>& text) {
    const auto shown = std::min(text.size(), static_cast<std::size_t>(seq_len_));
    tokens_.assign(text.end() - static_cast<std::ptrdiff_t>(shown), text.end());
    tokens_.resize(static_cast<std::size_t>(seq_len_) + 1, 0);
    return static_cast<std::int64_t>(shown) - 1;
  }
  [[nodiscard]] std::int64_t seq_len() const override { return seq_len_; }
  [[nodiscard]] std::int64_t size() const override { return 1; }
  void read(std::int64_t, std::span<std::int32_t> tokens) const override {
    std::ranges::copy(tokens_, tokens.begin());
  }
  [[nodiscard]] std::string name() const override { return "the text"; }

 private:
  std::int64_t seq_len_;
  std::vector<std::int32_t> tokens_;
};

// A token by its logits.
class Choice {
 public:
  explicit Choice(const SampleOptions& o)
      : temperature_(o.temperature), top_k_(o.top_k), generator_(o.seed) {}

  std::int32_t of(std::span<const float> logits) {
    std::vector<std::int32_t> tokens(logits.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
    std::ranges::stable_sort(tokens, std::ranges::greater(),
                             [&](std::int32_t t) { return logits[static_cast<std::size_t>(t)]; });
    if (temperature_ == 0) return tokens.front();
    if (top_k_ > 0) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(top_k_)));
    const float largest = logits[static_cast<std::size_t>(tokens.front())];
    std::vector<double> up_to;  // sums of probabilities
    for (const std::int32_t t : tokens) {
      const double weight =
          std::exp((logits[static_cast<std::size_t>(t)] - largest) / temperature_);
      up_to.push_back(weight + (up_to.empty() ? 0 : up_to.back()));
    }
    const double drawn = up_to.back() * static_cast<double>(generator_() >> 11) * 0x1p-53;
    const auto found = std::ranges::upper_bound(up_to, drawn) - up_to.begin();
    return tokens[std::min(static_cast<std::size_t>(found), tokens.size() - 1)];
  }

 private:
  double temperature_;
  int top_k_;
  std::mt19937_64 generator_;
};

// What samples are drawn from.
struct Trained {
  ModelSpec model;
  std::int64_t context = kUsualContext;
  std::string tokenizer = "byte";
  std::function<void(const std::string&, std::span<float>)> read_weight;
};

Trained load(const SampleOptions& o) {
  if (o.checkpoint.empty() == o.from.empty()) {
    throw_config_error(ExitCode::bad_request, "", "--checkpoint, --from",
                       "one of them names the model", "--checkpoint ckpt, or --from FOLDER");
  }
  Trained t;
  if (!o.from.empty()) {
    t.model = load_model(o.from + "/config.json").model;
    t.read_weight = [weights = std::make_shared<HfWeights>(o.from, t.model)](
                        const std::string& name, std::span<float> out) {
      weights->read(name, out);
    };
    std::error_code none;
    if (std::filesystem::exists(o.from + "/tokenizer.json", none)) t.tokenizer = o.from;
    return t;
  }
  CheckpointOptions from;
  from.load = o.checkpoint;
  const auto run = earlier_run(from);
  if (!run) {
    throw_config_error(ExitCode::device_or_io, o.checkpoint, "", "has no checkpoint to read",
                       "`pleat checkpoint verify` says what is wrong with one");
  }
  t.model = run->model;
  t.context = run->state.seq_len;
  t.read_weight = [weights = std::make_shared<SavedWeights>(run->folder)](
                      const std::string& name, std::span<float> out) { weights->read(name, out); };
  return t;
}

std::vector<std::int32_t> prompt_tokens(const SampleOptions& o, const Tokenizer& tokenizer,
                                        std::int64_t vocab) {
  std::vector<std::int32_t> tokens;
  tokenizer.encoder()->encode(o.prompt, true, tokens);
  if (tokens.empty() && tokenizer.end_of_document()) tokens = {*tokenizer.end_of_document()};
  const auto outside = std::ranges::find_if(tokens, [&](std::int32_t t) { return t >= vocab; });
  if (tokens.empty() || outside != tokens.end()) {
    throw_config_error(
        ExitCode::bad_request, "--prompt", "",
        tokens.empty() ? "is empty"
                       : fmt::format("token {} is not in the model's vocabulary of {}", *outside,
                                     vocab),
        tokens.empty() ? "some text" : "--tokenizer: the one that the model was trained with");
  }
  return tokens;
}

// Prints what a text has more than before, but no letter whose bytes are not all there yet.
class Printer {
 public:
  void show(const std::string& text, bool all) {
    std::size_t end = text.size();
    while (!all && end > printed_ && end + 4 > text.size() && !whole(text, end)) --end;
    if (end <= printed_) return;
    print(text.substr(printed_, end - printed_));
    flush_output();
    printed_ = end;
  }

 private:
  static bool whole(const std::string& text, std::size_t end) {
    for (std::size_t back = 1; back <= 4 && back <= end; ++back) {
      const auto byte = static_cast<unsigned char>(text[end - back]);
      if (byte < 0x80) return true;
      if (byte >= 0xC0) return back >= (byte >= 0xF0 ? 4u : byte >= 0xE0 ? 3u : 2u);
    }
    return true;
  }
  std::size_t printed_ = 0;
};

}  // namespace

void sample_text(const SampleOptions& o) {
  const Trained trained = load(o);
  const auto tokenizer = open_tokenizer(o.tokenizer.empty() ? trained.tokenizer : o.tokenizer);
  std::vector<std::int32_t> text = prompt_tokens(o, *tokenizer, trained.model.vocab);
  const std::size_t prompt = text.size();
  const WorkloadSpec workload{.seq_len = o.context > 0 ? o.context : trained.context,
                              .global_batch = 1};
  Plan plan;
  plan.precision = Precision::fp32;
  plan.sharding = Sharding::none;
  plan.sequence_parallel = false;
  const Program program = compile(trained.model, workload, plan, Runtime::pleat);
  const auto window = std::make_shared<Window>(workload.seq_len);
  const Batches batches(window, workload, trained.model.vocab, 1, 1);
  Choice choice(o);
  Printer printer;
  std::int64_t last = 0;
  std::vector<float> logits;
  TrainConfig config;
  config.steps = 0;
  config.data = window;
  config.read_weight = trained.read_weight;
  config.after_op = [&](Rank, const Op& op, std::span<const View> out) {
    if (op.name != "head" || op.phase != Phase::forward) return;
    const float* row = out[0].f32() + last * out[0].cols;
    logits.assign(row, row + trained.model.vocab);
  };
  config.before_first_step = [&](const StepBoundary& b) {
    const StageProgram forward = evaluation_of(b.executor.stage());
    while (text.size() < prompt + static_cast<std::size_t>(o.tokens)) {
      last = window->show(text);
      static_cast<void>(b.executor.evaluate(forward, batches, 0));
      text.push_back(choice.of(logits));
      if (!o.json) printer.show(tokenizer->decode(text), false);
    }
    return 0;
  };
  static_cast<void>(train(program, config));
  const std::string written = tokenizer->decode(text);
  if (!o.json) {
    printer.show(written, true);
    return print("\n");
  }
  JsonValue tokens = JsonValue::array();
  for (const std::int32_t t : text) tokens.push_back(t);
  print(JsonValue::object()
            .set("schema_version", 1)
            .set("text", written)
            .set("prompt_tokens", prompt)
            .set("tokens", std::move(tokens))
            .dump() +
        "\n");
}

}  // namespace pleat
