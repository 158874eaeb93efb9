// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dependencies by tensor, and what Boost.Graph derives from them.
#include "core/program/op_graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/topological_sort.hpp>
#include <map>

namespace pleat {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, double>>;

struct Access {
  int last_write = -1;
  std::vector<int> reads_since;
};

}  // namespace

std::vector<std::vector<int>> dependencies(std::span<const Op> ops) {
  std::vector<std::vector<int>> deps(ops.size());
  std::map<TensorId, Access> access;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int self = static_cast<int>(i);
    std::vector<int>& mine = deps[i];
    for (TensorId t : ops[i].in) {
      Access& a = access[t];
      if (a.last_write >= 0) mine.push_back(a.last_write);
      a.reads_since.push_back(self);
    }
    for (TensorId t : ops[i].out) {
      Access& a = access[t];
      if (a.last_write >= 0) mine.push_back(a.last_write);
      mine.insert(mine.end(), a.reads_since.begin(), a.reads_since.end());
      a = {self, {}};
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    std::erase(mine, self);
  }
  return deps;
}

double critical_path(std::span<const Op> ops, std::span<const double> durations) {
  // Longest path = shortest path with negated weights; vertex n is the common end.
  const std::size_t n = ops.size();
  Graph graph(n + 2);
  const auto deps = dependencies(ops);
  for (std::size_t i = 0; i < n; ++i) {
    boost::add_edge(n + 1, i, 0.0, graph);
    boost::add_edge(i, n, -durations[i], graph);
    for (int d : deps[i]) {
      boost::add_edge(static_cast<std::size_t>(d), i, -durations[static_cast<std::size_t>(d)], graph);
    }
  }
  std::vector<double> distance(n + 2);
  boost::dag_shortest_paths(graph, n + 1, boost::distance_map(distance.data()));
  return n == 0 ? 0.0 : -distance[n];
}

bool is_topological(std::span<const Op> ops) {
  Graph graph(ops.size());
  const auto deps = dependencies(ops);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (int d : deps[i]) boost::add_edge(static_cast<std::size_t>(d), i, 1.0, graph);
  }
  std::vector<Graph::vertex_descriptor> order;
  try {
    boost::topological_sort(graph, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    return false;
  }
  return true;
}

}  // namespace pleat
