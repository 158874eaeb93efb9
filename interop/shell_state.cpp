// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/shell_state.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

constexpr std::size_t kMostProduced = std::size_t{1} << 24;

}  // namespace

void ShellState::spend(std::size_t characters) {
  produced_ += characters;
  if (produced_ > kMostProduced)
    throw_config_error(ExitCode::bad_file, "", "", "its variables grow without end", "");
}

void ShellState::spend(const Items& items) {
  for (const auto& [key, value] : items) spend(kShellWord + key.size() + value.size());
}

const std::string& ShellState::resolved(const std::string& name) const {
  const std::string* at = &name;
  for (int i = 0; i < 8; ++i) {
    const auto found = references_.find(*at);
    if (found == references_.end()) break;
    at = &found->second;
  }
  return *at;
}

void ShellState::set(const std::string& name, std::string value) {
  const std::size_t bracket = name.find('[');
  if (bracket == std::string::npos) {
    references_.erase(name);
    variables_[name] = {{"0", std::move(value)}};
    return;
  }
  const std::string key = word(std::string_view(name).substr(
      bracket + 1, name.size() - bracket - 1 - (name.back() == ']' ? 1 : 0)));
  Items& all = variables_[resolved(name.substr(0, bracket))];
  spend(all.size());
  const auto found = std::ranges::find(all, key, &Items::value_type::first);
  if (found != all.end())
    found->second = std::move(value);
  else
    all.emplace_back(key, std::move(value));
}

void ShellState::append(const std::string& name, const std::string& value) {
  Items& all = variables_[resolved(name)];
  if (all.empty()) all.emplace_back("0", "");
  all.front().second += value;
  spend(all.front().second.size());
}

void ShellState::set_items(const std::string& name, Items items, bool more) {
  Items& all = variables_[resolved(name)];
  if (!more) all.clear();
  for (auto& item : items) {
    if (item.first.empty()) item.first = std::to_string(all.size());
    all.push_back(std::move(item));
  }
}

void ShellState::forget(const std::string& name) { set(name, unknown_value(name)); }

void ShellState::unset(const std::string& name) { variables_.erase(name); }

const ShellState::Items* ShellState::items(const std::string& name) const {
  const auto found = variables_.find(resolved(name));
  return found == variables_.end() ? nullptr : &found->second;
}

std::optional<ShellState::Items> ShellState::copy(const std::string& name) {
  const Items* const all = items(name);
  if (all == nullptr) return std::nullopt;
  spend(*all);
  return *all;
}

ShellState ShellState::snapshot() {
  for (const auto& [name, all] : variables_) spend(all);
  return *this;
}

void ShellState::restore(ShellState before) {
  before.produced_ = produced_;
  *this = std::move(before);
}

std::string ShellState::value(const std::string& name) const {
  const Items* const all = items(name);
  if (all == nullptr) return unknown_value(name);
  return all->empty() ? "" : all->front().second;
}

std::map<std::string, std::string> ShellState::all() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, items] : variables_) {
    std::string& text = out[name];
    for (const auto& [key, value] : items) text += (text.empty() ? "" : " ") + value;
  }
  return out;
}

}  // namespace pleat::interop
