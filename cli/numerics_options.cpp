// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/numerics_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "application/plan/numerics_answer.hpp"
#include "application/request/typed_fields.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {
namespace {

void add_words(CLI::App& command, const std::string& name, std::vector<std::string>& values,
               const std::string& help, std::vector<std::string> choices) {
  if (name == "precision") choices.emplace_back("any");
  command.add_option("--" + name, values, help)
      ->delimiter(',')
      ->check(offers(choices))
      ->group(kNumericsGroup);
}

// A bare flag means on, and takes no word from behind it that is none of these.
void add_switch(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                const std::string& help, bool usual) {
  const std::string text = help + " (default: " + (usual ? "on" : "off") + ")" +
                           ": on (also without a value), off or any";
  command.add_option("--" + name, values, text)
      ->delimiter(',')
      ->expected(0, 1)
      ->check(offers({"on", "off", "any"}))
      ->type_name("TEXT")
      ->group(kNumericsGroup);
}

}  // namespace

void add_numerics_mode(CLI::App& command, std::string& mode, const char* group) {
  command
      .add_option(
          "--numerics", mode,
          "megatron-default: what the runtime does unless told otherwise; recipe: or what "
          "published runs of the GPU and the family of models do; any: whatever the runtime and "
          "the GPU have. What is given for a single field holds in every case")
      ->check(offers(kNumericsModes))
      ->capture_default_str()
      ->group(group);
}

void add_numerics_options(CLI::App& command, NumericsWords& given) {
  const Plan plain;
  for_each_numerics_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    const TypedAs& typed = field.typed;
    const std::string name(typed.flag);
    const std::string help =
        help_text(field, typed.search_help.empty() ? typed.help : typed.search_help);
    if constexpr (kIsSwitch<decltype(field)>) {
      add_switch(command, name, given.by_row[i], help, field.in(plain));
    } else {
      add_words(command, name, given.by_row[i], help, offered_words(field));
    }
  });
}

}  // namespace pleat::cli
