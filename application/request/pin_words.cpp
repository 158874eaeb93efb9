// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/pin_words.hpp"

#include "application/request/pin_values.hpp"
#include "application/request/plan_values.hpp"

namespace pleat {

void read_pins(const PinWords& given, PlanPins& pins) {
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    const auto& words = std::get<i>(given.by_row);
    Pinned<Value>& pin = std::get<i>(pins.by_row);
    if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, std::string>) {
      pin = words;
    } else {
      const std::string flag = "--" + std::string(field.pin_flag());
      if constexpr (std::is_same_v<Value, bool>) {
        if (field.chosen_by == ChosenBy::fixed)
          pin = parse_switches(words, flag);
        else if (!words.empty())
          pin = parse_switch(words.front(), flag);
      } else {
        for (const std::string& word : words) pin.values.push_back(parse_choice<Value>(word, flag));
      }
    }
  });
}

}  // namespace pleat
