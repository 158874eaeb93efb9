// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/capacity_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "application/request/gpu_formats.hpp"
#include "application/request/plan_values.hpp"
#include "application/request/search_numerics.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/expert_load.hpp"
#include "interop/quoting.hpp"
#include "planner/capacity/amounts.hpp"
#include "planner/search/sizes_search.hpp"

namespace pleat {
namespace {

constexpr int kMostGpus = 16'777'216;
constexpr std::size_t kMostSizes = 512;  // of a cluster
constexpr double kMostTokens = 1e18;  // a job of millions of years; beyond, sums lose their steps
constexpr std::int64_t kUsualSeqLen = 4096, kUsualBatch = 4096;
// Of a question that names none: what most jobs were booked on, and a rack. Two months.
constexpr const char* kUsualClusters[] = {"h100-sxm", "gb200-nvl72"};
constexpr double kUsualDeadline = 60 * 86400.0;
constexpr double kRoughUse = 0.35;  // of the bf16 peak, for a first look

// The power of two of GPUs that would be done by then at about kRoughUse, and twice as many.
std::vector<int> rough_sizes(const Target& t, double tokens, Seconds by, Tuning tuning) {
  const double flops = 6.0 * static_cast<double>(count_parameters(t.model).active) * tokens;
  const double peak = t.cluster.gpu.peak_bf16.base();
  const double need = peak > 0 ? facts_of(tuning).p90 * flops / (kRoughUse * peak * by.base()) : 1;
  const int domain = t.cluster.tiers.front().size;  // of racks the most that is a power of two
  auto size = static_cast<int>(
      std::bit_floor(static_cast<unsigned>(std::max(domain, t.cluster.gpus_per_node))));
  while (size < need && size < kMostGpus / 4) size *= 2;
  return {size, 2 * size};
}

// "a=b" into a and b; everything into b where there is no such sign.
std::pair<std::string, std::string> split(const std::string& text, char sign) {
  const std::size_t at = text.find(sign);
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

class Reader {
 public:
  explicit Reader(const CapacityOptions& o) : o_(o) {}

  CapacityQuestion read() {
    amounts();
    SizeRange range = sizes();
    problems_.throw_if_errors();
    for (const std::string& name : clusters()) add_site(name, range);
    for_cluster_values();
    problems_.throw_if_errors();
    return std::move(request_);
  }

 private:
  void wrong(const char* flag, std::string message, std::string hint) {
    problems_.error(ExitCode::bad_request, flag, "", std::move(message), std::move(hint));
  }

  std::optional<double> amount(const char* flag, const std::string& text,
                               ParsedAmount (*parse)(std::string_view), const char* hint) {
    if (text.empty()) return std::nullopt;
    const ParsedAmount parsed = parse(text);
    if (!parsed.value) wrong(flag, parsed.problem, hint);
    return parsed.value;
  }

  void amounts() {
    if (o_.model.empty()) wrong("--model", "is required", "`pleat models` lists what ships");
    const char* tokens_hint = "a number with k, M, B or T, for example 15T";
    if (o_.tokens.empty()) wrong("--tokens", "is required", tokens_hint);
    request_.tokens = amount("--tokens", o_.tokens, parse_count, tokens_hint).value_or(1);
    if (!(request_.tokens >= 1 && request_.tokens <= kMostTokens)) {
      wrong("--tokens",
            fmt::format("{} is not in the range of 1 to {:.0e}", o_.tokens, kMostTokens),
            tokens_hint);
    }
    Goal& goal = request_.goal;
    if (o_.deadline.empty() && o_.budget.empty()) {
      goal.deadline = Seconds(kUsualDeadline);
      request_.assumed.emplace_back("--deadline 60d");
    }
    if (const auto time = amount("--deadline", o_.deadline, parse_duration,
                                 "a number with h, d, w or mo, for example 60d")) {
      goal.deadline = Seconds(*time);
    }
    goal.budget = amount("--budget", o_.budget, parse_dollars, "US dollars, for example 20M");
    if (o_.confidence != "p50" && o_.confidence != "p90") {
      wrong("--confidence", fmt::format("\"{}\" is none", o_.confidence), "p50 or p90");
    }
    goal.confidence = o_.confidence == "p50" ? Confidence::p50 : Confidence::p90;
    request_.proven = o_.proven;
    if (const auto tuning = tuning_named(o_.tuning)) {
      request_.tuning = *tuning;
    } else {
      wrong("--tuning", fmt::format("\"{}\" is none", o_.tuning), "untuned, typical or best");
    }
    batch_rule();
  }

  void batch_rule() {
    const char* hint = "tokens of a step beyond which more batch saves few steps, for example 60M";
    const bool scales = o_.batch_rule == "critical";
    if (!scales && o_.batch_rule != "constant") {
      wrong("--batch-rule", fmt::format("\"{}\" is none", o_.batch_rule), "constant or critical");
    }
    if (scales && o_.critical_batch.empty()) {
      wrong("--critical-batch", "is required by --batch-rule critical", hint);
    }
    if (!scales && !o_.critical_batch.empty()) {
      wrong("--critical-batch", "is without effect under --batch-rule constant",
            "--batch-rule critical");
    }
    const auto tokens = amount("--critical-batch", o_.critical_batch, parse_count, hint);
    if (scales) request_.critical_batch = tokens;
  }

  std::optional<int> gpu_count(const std::string& text) {
    int count = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, count);
    if (parsed.ec == std::errc() && parsed.ptr == end && count >= 1 && count <= kMostGpus) {
      return count;
    }
    wrong("--gpus", fmt::format("\"{}\" is not a whole number from 1 to {}", text.substr(0, 40),
                                kMostGpus),
          "a range or a list, for example 256..16384 or 512,1024");
    return std::nullopt;
  }

  SizeRange sizes() {
    SizeRange range;
    range.step = o_.gpu_step.value_or(0);
    const std::size_t dots = o_.gpus.find("..");
    if (o_.gpus.empty() && o_.clusters.empty()) {
      request_.assumed.emplace_back("a few --gpus of about the size that is asked for");
    } else if (o_.gpus.empty()) {
      request_.assumed.push_back(fmt::format("--gpus {}..{}", range.least, range.most));
    } else if (dots != std::string::npos) {
      range.least = gpu_count(o_.gpus.substr(0, dots)).value_or(1);
      range.most = gpu_count(o_.gpus.substr(dots + 2)).value_or(kMostGpus);
      if (range.least > range.most) {
        wrong("--gpus", fmt::format("the range {} is empty", o_.gpus),
              fmt::format("--gpus {}..{}", range.most, range.least));
      }
    } else {
      for (std::size_t begin = 0; begin <= o_.gpus.size();) {
        const std::size_t end = std::min(o_.gpus.find(',', begin), o_.gpus.size());
        if (const auto n = gpu_count(o_.gpus.substr(begin, end - begin))) range.exact.push_back(*n);
        begin = end + 1;
      }
      if (range.step > 0) {
        wrong("--gpu-step", "is without effect beside a list of sizes", "--gpus 256..16384");
      }
    }
    request_.largest_asked = range.exact.empty() ? range.most : 0;
    if (range.step > 0 &&
        static_cast<std::size_t>((range.most - range.least) / range.step) > kMostSizes) {
      wrong("--gpu-step", fmt::format("makes more than {} sizes", kMostSizes), "a larger step");
    }
    return range;
  }

  std::vector<std::string> clusters() {
    std::vector<std::string> names;
    if (o_.clusters.empty()) {
      names.assign(std::begin(kUsualClusters), std::end(kUsualClusters));
      request_.assumed.push_back(fmt::format("--clusters {}", fmt::join(names, ",")));
    }
    for (const std::string& name : o_.clusters) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }

  // A job may be faster on fewer GPUs than were named, or possible there alone.
  static void add_fewer(CapacitySite& site) {
    std::set<int> sizes;
    for (const int n : site.sizes) {
      const Target& t = site.target;
      for (const int m :
           sizes_down(n, n / 2 + 1, t.workload.global_batch, t.cluster.gpus_per_node)) {
        sizes.insert(m);
      }
    }
    site.sizes.assign(sizes.begin(), sizes.end());
  }

  // Says --clusters where other commands have --cluster.
  static Target target_of(const TargetOptions& t) {
    try {
      return resolve_target(t);
    } catch (const ConfigError& e) {
      std::vector<Diagnostic> list = e.diagnostics();
      for (Diagnostic& d : list)
        if (d.where == "--cluster") d.where = "--clusters";
      throw ConfigError(std::move(list));
    }
  }

  // A run of trillions of tokens balances its experts, and no run does it perfectly.
  void load_experts(CapacitySite& site) {
    Target& t = site.target;
    if (!o_.routing.routing.empty()) {
      site.routing = " --routing " + interop::shell_word(o_.routing.routing, "--routing");
    }
    if (o_.routing.imbalance) site.routing += fmt::format(" --imbalance {}", *o_.routing.imbalance);
    if (!t.model.moe || !o_.routing.routing.empty() || o_.routing.imbalance) return;
    const bool untrained = natural_spread(*t.model.moe) == kUntrainedSpread;
    const std::string word = untrained ? "aux-loss" : "natural";
    if (untrained) t.assumed.emplace_back("--routing aux-loss");
    put_routing({word, {}}, t.model, t.workload, t.assumed);
    site.routing = " --routing " + word;
    site.usual_loads = true;
  }

  void add_site(const std::string& name, const SizeRange& range) {
    CapacitySite site;
    site.words = name;
    TargetOptions t;
    t.model = o_.model;
    t.cluster = name;
    t.gpus = 1;
    t.seq_len = o_.seq_len.value_or(kUsualSeqLen);
    t.global_batch = o_.global_batch;
    if (!t.global_batch.has_value()) t.global_batch.sequences = kUsualBatch;
    t.routing = o_.routing;
    site.target = target_of(t);
    load_experts(site);
    const std::vector<std::string>& said = site.target.assumed;
    request_.assumed.insert(request_.assumed.end(), said.begin(), said.end());
    site.sizes = o_.gpus.empty() && o_.clusters.empty()
                     ? rough_sizes(site.target, request_.tokens,
                                   request_.goal.deadline.value_or(Seconds(kUsualDeadline)),
                                   request_.tuning)
                     : sizes_to_try(range, site.target.cluster);
    if (!range.exact.empty() && !request_.critical_batch) add_fewer(site);
    if (site.sizes.empty()) {
      wrong("--gpus", fmt::format("no size of {} is in the range {}..{}", name, range.least,
                                  range.most),
            "powers of two, racks doubled, or multiples of --gpu-step");
    }
    request_.sites.push_back(std::move(site));
  }

  // Calls set(site, text) for "text" on all sites, for "cluster=text" on one.
  template <class Set>
  void each(const char* flag, const std::vector<std::string>& values, char sign, Set set) {
    for (const std::string& value : values) {
      const auto [cluster, text] = split(value, sign);
      bool found = false;
      for (CapacitySite& site : request_.sites) {
        if (!cluster.empty() && cluster != site.target.cluster.name) continue;
        set(site, text);
        found = true;
      }
      if (!found) {
        std::vector<std::string> names;
        for (const CapacitySite& s : request_.sites) names.push_back(s.target.cluster.name);
        wrong(flag, fmt::format("{} is not among the clusters", cluster),
              fmt::format("one of {}", fmt::join(names, ", ")));
      }
    }
  }

  void for_cluster_values() {
    std::vector<RateFile> files;
    const auto read = [&](const std::string& path) {
      files.push_back(read_rates(read_text_file(path), path));
    };
    read(config_directory() + "/rates/default.json");
    if (!o_.rates_file.empty()) read(o_.rates_file);
    for (CapacitySite& site : request_.sites) {
      site.rates = rates_of(files, site.target.cluster.name);
      if (!site.rates.find(Rate::price)) price_of_its_gpu(files, site);
    }
    formats();
    each("--price", o_.price, '=', [&](CapacitySite& site, const std::string& text) {
      set(site, Rate::price, "--price", parse_dollars(text), "USD per GPU-hour, for example 2.5$");
    });
    each("--mtbf", o_.mtbf, '=', [&](CapacitySite& site, const std::string& text) {
      const std::string hours = text.ends_with('h') ? text.substr(0, text.size() - 1) : text;
      set(site, Rate::gpu_mtbf, "--mtbf", parse_count(hours),
          "GPU-hours between failures, for example 50000");
      // One's own figure holds for small jobs too.
      site.rates.set(Rate::mtbf_factor_small, *site.rates.find(Rate::mtbf_factor));
    });
    each("--rate", o_.rates, ':', [&](CapacitySite& site, const std::string& text) {
      set_rate(site, text);
    });
    require_all_rates();
  }

  // A cluster of one's own costs what a shipped one with the same GPU does, until somebody says.
  static void price_of_its_gpu(const std::vector<RateFile>& files, CapacitySite& site) {
    const std::string& gpu = site.target.cluster.gpu.name;
    std::optional<RateValue> price = rates_of(files, gpu).find(Rate::price);
    if (!price) return;
    price->source = fmt::format("assumption: as {}: {}", gpu, price->source);
    price->assumption = true;
    site.rates.set(Rate::price, *price);
  }

  void formats() {
    std::map<std::string, std::string> precision;  // by cluster
    each("--precision", o_.precision, '=', [&](CapacitySite& site, const std::string& text) {
      require_format(site.target, parse_precision(text, "--precision"), "--precision", "");
      precision[site.target.cluster.name] = text;
    });
    for (CapacitySite& site : request_.sites) {
      NumericsRequest asked{o_.numerics, {}};
      const auto given = precision.find(site.target.cluster.name);
      if (given != precision.end())
        asked.fields.by_row[kPlanRow<&Plan::precision>] = {given->second};
      std::vector<std::string>& said = site.target.assumed;
      const std::size_t before = said.size();
      NumericsQuestion question = numerics_question(asked, site.target);
      site.numerics = std::move(question.numerics);
      site.free_numerics = std::move(question.free);
      site.told_numerics = std::move(question.told);
      if (o_.precision.empty()) {
        const auto first = said.begin() + static_cast<std::ptrdiff_t>(before);
        request_.assumed.insert(request_.assumed.end(), first, said.end());
      }
    }
  }

  void set_rate(CapacitySite& site, const std::string& text) {
    const auto [key, value] = split(text, '=');
    const auto rate = rate_named(key);
    if (!rate) {
      const std::string near = nearest_name(key, rate_names());
      wrong("--rate", fmt::format("no rate is named \"{}\"{}", key,
                                  near.empty() ? "" : fmt::format("; did you mean {}?", near)),
            fmt::format("name=value, of {}", fmt::join(rate_names(), ", ")));
      return;
    }
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
    set(site, *rate, "--rate",
        is_number ? ParsedAmount{number, {}}
                  : ParsedAmount{{}, fmt::format("{}: \"{}\" is not a number", key, value)},
        "name=value, for example restart_minutes=15");
  }

  void set(CapacitySite& site, Rate rate, const char* flag, const ParsedAmount& amount,
           const char* hint) {
    const std::string problem =
        amount.value ? rate_problem(rate, *amount.value) : amount.problem;
    if (problem.empty()) {
      site.rates.set(rate, {*amount.value, flag, "", false});
    } else {
      wrong(flag, amount.value ? fmt::format("{} {}", facts_of(rate).key, problem) : problem, hint);
    }
  }

  void require_all_rates() {
    for (const CapacitySite& site : request_.sites) {
      for (const std::string& key : rate_names()) {
        if (site.rates.find(*rate_named(key))) continue;
        const std::string& name = site.target.cluster.name;
        wrong("--rate", fmt::format("{} has no {}", name, key),
              key == facts_of(Rate::price).key ? fmt::format("--price {}=2.5$", name)
                                               : fmt::format("--rate {}:{}=…", name, key));
      }
    }
  }

  const CapacityOptions& o_;
  CapacityQuestion request_;
  Diagnostics problems_;
};

}  // namespace

CapacityQuestion read_capacity_request(const CapacityOptions& options) {
  CapacityQuestion request = Reader(options).read();
  std::vector<std::string> once;
  for (const std::string& text : request.assumed) {
    if (std::ranges::find(once, text) == once.end()) once.push_back(text);
  }
  request.assumed = std::move(once);
  if (!options.seq_len) request.assumed.push_back(fmt::format("--seq-len {}", kUsualSeqLen));
  if (!options.global_batch.has_value()) {
    request.assumed.push_back(fmt::format("--global-batch {}", kUsualBatch));
  }
  return request;
}

}  // namespace pleat
