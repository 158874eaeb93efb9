// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The points of one kernel family: which of them a fit does not see, and how far it is off on both.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// Which measured points a fit does not see: a quarter of every kind, picked by a hash of their
// names, so that the choice follows neither the order of the plan nor the sizes in it.

// What a point is without its sizes: "grouped_gemm.dgrad, zipf" of
// "grouped_gemm.dgrad 8192x4096x7168 16 experts, zipf".
[[nodiscard]] std::string kind_of(const std::string& name);

// True: held out. Of a kind with one point none, else at least one; the same for the same names in
// any order.
[[nodiscard]] std::vector<bool> held_out(const std::vector<std::string>& names);

// How far a fit is off, on the points it saw and on those it did not.

struct Residual {
  std::string family;  // "gemm", "all_gather", "shared by 4 threads"
  std::string kind = {};  // of its points, "gemm.dgrad"; empty: all of them
  int in_sample = 0, held_out = 0;  // points
  double in_sample_median = 0;      // |predicted / measured - 1|
  // Without a value: no point was held out, so that nothing is known.
  std::optional<double> held_out_median = {}, held_out_worst = {};
  bool operator==(const Residual&) const = default;
};

struct JudgedPoint {
  std::string name;
  bool held_out = false;
  double error = 0;  // |predicted / measured - 1|
};

[[nodiscard]] double relative_error(Seconds predicted, Seconds measured);

// Appends the residual of all points. With `by_kind`, and if the points are of several kinds, the
// residual of each kind too.
void append_residuals(const std::string& family, const std::vector<JudgedPoint>&, bool by_kind,
                      std::vector<Residual>&);

// Points of one family: those that are held out are not fitted, and all are judged.

template <class Point>
struct Family {
  std::string name;
  std::vector<std::string> names = {};
  std::vector<Point> points = {};
  void add(std::string point_name, Point point) {
    names.push_back(std::move(point_name));
    points.push_back(std::move(point));
  }
};

// Returns fit_points(points that are not held out), and judges predict_point(fit, point) against
// point.time.
template <class Point, class Fit, class Predict>
auto fit_family(const Family<Point>& family, Fit fit_points, Predict predict_point, bool by_kind,
                std::vector<Residual>& residuals) {
  const std::vector<bool> out = held_out(family.names);
  std::vector<Point> seen;
  for (std::size_t i = 0; i < family.points.size(); ++i) {
    if (!out[i]) seen.push_back(family.points[i]);
  }
  auto fitted = fit_points(seen);
  std::vector<JudgedPoint> judged;
  for (std::size_t i = 0; i < family.points.size(); ++i) {
    const Point& p = family.points[i];
    judged.push_back({family.names[i], out[i], relative_error(predict_point(fitted, p), p.time)});
  }
  append_residuals(family.name, judged, by_kind, residuals);
  return fitted;
}

// Judges a family that nothing is fitted to: all of its points count as held out.
template <class Point, class Predict>
void judge_unseen(const Family<Point>& family, Predict predict_point,
                  std::vector<Residual>& residuals) {
  std::vector<JudgedPoint> judged;
  for (std::size_t i = 0; i < family.points.size(); ++i) {
    const Point& p = family.points[i];
    judged.push_back({family.names[i], true, relative_error(predict_point(p), p.time)});
  }
  if (!judged.empty()) append_residuals(family.name, judged, true, residuals);
}

}  // namespace pleat
