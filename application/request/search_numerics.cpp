// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/search_numerics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "application/request/free_numerics.hpp"
#include "application/request/given_numerics.hpp"
#include "application/request/gpu_formats.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {
namespace {

class Asker {
 public:
  Asker(const NumericsRequest& request, Target& target) : fields_(request.fields), target_(target) {
    asked_.mode = mode_of(request.mode);
    asked_.published = read_published_numerics(read_text_file(path()), path());
  }

  NumericsQuestion ask() {
    asked_.plain = plain();
    set_told();
    for (const NumericsRecipe& r :
         recipes_of(asked_.published, target_.cluster.gpu.name, target_.model.model_type)) {
      if (allows_precision(r)) offer(r);
    }
    require_a_recipe();
    asked_.numerics = asked_.plain;
    if (asked_.mode != NumericsMode::megatron_default) {
      for (const OfferedRecipe& r : asked_.recipes) {
        for (const Numerics& n : r.numerics) add_distinct(n, asked_.numerics);
      }
      leave_legal();
    }
    if (asked_.mode == NumericsMode::any) {
      asked_.free = free_values(fields_, asked_.plain, target_, asked_.told, asked_.not_chosen);
    }
    require_few();
    return std::move(asked_);
  }

 private:
  static NumericsMode mode_of(const std::string& word) {
    const auto at = std::ranges::find(kNumericsModes, word);
    if (at != kNumericsModes.end()) {
      return static_cast<NumericsMode>(at - kNumericsModes.begin());
    }
    throw_config_error(ExitCode::bad_request, "", "--numerics", "'" + word + "' is no mode",
                       fmt::format("one of {}", fmt::join(kNumericsModes, ", ")));
  }

  static std::string path() { return config_directory() + "/numerics/published.json"; }

  [[nodiscard]] const std::vector<std::string>& precision_words() const {
    return fields_.of<&Plan::precision>();
  }

  std::vector<Precision> precisions() {
    const std::vector<std::string>& words = precision_words();
    if (words.empty()) {
      const Precision assumed = default_precision(target_.runtime, target_.cluster);
      if (asked_.mode == NumericsMode::megatron_default) {
        target_.assumed.push_back("--precision " + name_of(assumed));
      }
      return usual_precisions(assumed);
    }
    std::vector<Precision> list;
    for (const std::string& word : words) {
      if (word == "any") {
        for (const Precision p : supported_precisions(target_.cluster)) list.push_back(p);
      } else {
        list.push_back(parse_precision(word, "--precision"));
        require_format(target_, list.back(), "--precision");
      }
    }
    return list;
  }

  // Where formats are chosen, a narrow attention or head that was asked for chooses narrow
  // products.
  [[nodiscard]] std::vector<Precision> usual_precisions(Precision assumed) const {
    if (asked_.mode != NumericsMode::any || !asks_for_narrow(fields_)) return {assumed};
    std::vector<Precision> narrow;
    for (const Precision p : supported_precisions(target_.cluster)) {
      if (has_narrow_operands(p)) narrow.push_back(p);
    }
    return narrow.empty() ? std::vector{assumed} : narrow;
  }

  std::vector<Numerics> plain() {
    std::vector<Numerics> all;
    for (const Precision p : precisions()) all.emplace_back().precision = p;
    // A recipe may still bring the narrow products that a field was given for.
    const bool may_come = asked_.mode == NumericsMode::recipe && precision_words().empty();
    if (!may_come) require_narrow(fields_, all);
    return with_fields(fields_, std::move(all));
  }

  [[nodiscard]] bool allows_precision(const NumericsRecipe& r) const {
    return !r.names_precision() || precision_words().empty() ||
           std::ranges::any_of(asked_.plain,
                               [&](const Numerics& n) { return n.precision == r.precision(); });
  }

  void offer(const NumericsRecipe& recipe) {
    OfferedRecipe one{recipe, {}, {}};
    std::vector<Numerics> bases;
    if (recipe.names_precision()) {
      bases.emplace_back();
    } else {
      for (const Numerics& n : asked_.plain) {
        Numerics base;
        base.precision = n.precision;
        add_distinct(base, bases);
      }
    }
    for (Numerics base : bases) {
      for (const NumericsValue& v : recipe.values) put(v, base);
      if (!computes_format(target_, base.precision)) {
        one.why_not = fmt::format("the GPU has no tensor cores for {}", name_of(base.precision));
        continue;
      }
      take_legal(base, one);
    }
    if (!one.numerics.empty()) one.why_not.clear();
    asked_.recipes.push_back(std::move(one));
  }

  // The formats of a recipe with the fields that were given.
  void take_legal(const Numerics& base, OfferedRecipe& one) {
    for (const Numerics& n : with_fields(fields_, {base})) {
      const auto problem = refused(as_given(n));
      if (!problem) {
        add_distinct(n, one.numerics);
        continue;
      }
      const auto own = refused_numerics(target_.runtime, target_, base);
      const Violation& why = own ? *own : *problem;
      one.why_not =
          fmt::format("{}{}: {}", own ? "" : "what is given excludes it: ", why.path, why.message);
      if (!own && !contradiction_) contradiction_ = problem;
    }
  }

  // `with_fields` drops what says nothing; where it was given, that is a contradiction.
  [[nodiscard]] Numerics as_given(Numerics n) const {
    n.fp8_attention = n.fp8_attention || is_only_on<&Plan::fp8_attention>(fields_);
    n.fp8_head = n.fp8_head || is_only_on<&Plan::fp8_head>(fields_);
    return n;
  }

  [[nodiscard]] std::optional<Violation> refused(const Numerics& n) const {
    return refused_numerics(target_.runtime, target_, n, asked_.told);
  }

  // Each value by itself, whatever else was given.
  void set_told() {
    Numerics alone;
    alone.precision = asked_.plain.front().precision;
    for_each_numerics_field([&](auto i) {
      if constexpr (i != kPlanRow<&Plan::precision>) {
        for (const auto& value : values_of<i>(fields_)) {
          NumericsValue one{i, {}};
          kPlanField<i>.in_numerics(one.holder) = value;
          if (!is_possible(one, alone, target_)) asked_.told.push_back(i);
        }
      }
    });
  }

  // A mode chooses among what the runtime has, as far as what was given allows it.
  void leave_legal() {
    std::vector<Numerics> legal;
    for (const Numerics& n : asked_.numerics) {
      if (!refused(as_given(n))) legal.push_back(n);
    }
    if (!legal.empty())
      asked_.numerics = std::move(legal);
    else if (asks_for_narrow(fields_))
      require_narrow(fields_, asked_.numerics);
  }

  void require_a_recipe() const {
    if (asked_.mode != NumericsMode::recipe || !contradiction_) return;
    const bool some = std::ranges::any_of(
        asked_.recipes, [](const OfferedRecipe& r) { return !r.numerics.empty(); });
    if (some) return;
    throw_config_error(ExitCode::bad_request, "--numerics recipe", contradiction_->path,
                       contradiction_->message + ", and every recipe has that with what is given",
                       (contradiction_->hint.empty() ? "" : contradiction_->hint + "; or ") +
                           "--numerics megatron-default");
  }

  void require_few() const {
    const std::size_t count = asked_.numerics.size();
    if (count <= kMostNumerics) return;
    throw_config_error(ExitCode::bad_request, "", "--precision, --*-dtype",
                       fmt::format("{} combinations of number formats", count),
                       fmt::format("name fewer values: at most {} combinations", kMostNumerics));
  }

  const NumericsWords& fields_;
  Target& target_;
  NumericsQuestion asked_;
  std::optional<Violation> contradiction_;
};

}  // namespace

NumericsQuestion numerics_question(const NumericsRequest& request, Target& target) {
  return Asker(request, target).ask();
}

}  // namespace pleat
