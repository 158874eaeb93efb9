// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Points of one family: those that are held out are not fitted, and all are judged.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/fit/hold_out.hpp"
#include "calibration/fit/residual.hpp"

namespace pleat {

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

// What fit_points(seen points) gives; predict_point(it, point) is judged against point.time.
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

// Of what is not fitted everything is held out.
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
