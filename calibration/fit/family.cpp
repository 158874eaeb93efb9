// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/family.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "core/median.hpp"

namespace pleat {
namespace {

constexpr std::size_t kOneIn = 4;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// FNV-1a, and the last steps of MurmurHash3: names that differ in one digit must not stay in order.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  h = (h ^ (h >> 33U)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return h ^ (h >> 33U);
}

}  // namespace

// The words before the first that begins with a digit, and a last clause without any digit.
std::string kind_of(const std::string& name) {
  std::size_t end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_digit(name[i]) && (i == 0 || name[i - 1] == ' ')) {
      end = i;
      break;
    }
  }
  std::string kind = name.substr(0, end);
  const auto drop = [&](const std::string& tail) {
    if (kind.ends_with(tail)) kind.resize(kind.size() - tail.size());
  };
  drop(" ");
  drop(" of");
  drop(",");
  const std::size_t comma = name.rfind(", ");
  if (comma == std::string::npos || comma < end) return kind;
  const std::string last = name.substr(comma);
  return std::any_of(last.begin(), last.end(), is_digit) ? kind : kind + last;
}

std::vector<bool> held_out(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::tuple<std::uint64_t, std::string, std::size_t>>> kinds;
  for (std::size_t i = 0; i < names.size(); ++i)
    kinds[kind_of(names[i])].emplace_back(hash_of(names[i]), names[i], i);
  std::vector<bool> out(names.size(), false);
  for (auto& [kind, points] : kinds) {
    std::sort(points.begin(), points.end());
    const std::size_t least = points.size() > 1 ? 1 : 0;
    const std::size_t count = std::max(least, (points.size() + kOneIn / 2) / kOneIn);
    for (std::size_t i = 0; i < count; ++i) out[std::get<2>(points[i])] = true;
  }
  return out;
}

namespace {

Residual residual_of(const std::string& family, const std::string& kind,
                     const std::vector<JudgedPoint>& points) {
  std::vector<double> in, out;
  for (const JudgedPoint& p : points) (p.held_out ? out : in).push_back(p.error);
  Residual r{.family = family,
             .kind = kind,
             .in_sample = static_cast<int>(in.size()),
             .held_out = static_cast<int>(out.size()),
             .in_sample_median = median(in)};
  if (!out.empty()) {
    r.held_out_median = median(out);
    r.held_out_worst = *std::max_element(out.begin(), out.end());
  }
  return r;
}

}  // namespace

double relative_error(Seconds predicted, Seconds measured) {
  return std::abs(predicted / measured - 1);
}

void append_residuals(const std::string& family, const std::vector<JudgedPoint>& points,
                      bool by_kind, std::vector<Residual>& residuals) {
  residuals.push_back(residual_of(family, "", points));
  if (!by_kind) return;
  std::map<std::string, std::vector<JudgedPoint>> kinds;
  for (const JudgedPoint& p : points) kinds[kind_of(p.name)].push_back(p);
  if (kinds.size() < 2) return;
  for (const auto& [kind, some] : kinds) residuals.push_back(residual_of(family, kind, some));
}

}  // namespace pleat
