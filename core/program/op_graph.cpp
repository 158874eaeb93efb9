// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dependencies by tensor, and what Boost.Graph derives from them.
#include "core/program/op_graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/topological_sort.hpp>

namespace pleat {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, double>>;

}  // namespace

std::vector<std::vector<int>> dependencies(std::span<const Op> ops) {
  std::size_t tensors = 0;
  for (const Op& op : ops) {
    for (const auto* ids : {&op.in, &op.out}) {
      for (TensorId t : *ids) tensors = std::max(tensors, t.index() + 1);
    }
  }
  // Reads since the last write: of each tensor a chain through `reads`, the newest first.
  struct Read {
    int op, next;
  };
  std::vector<Read> reads;
  std::vector<int> last_write(tensors, -1), last_read(tensors, -1);
  std::vector<std::vector<int>> deps(ops.size());
  std::vector<int> mine;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int self = static_cast<int>(i);
    mine.clear();
    for (TensorId t : ops[i].in) {
      const std::size_t at = t.index();
      if (last_write[at] >= 0) mine.push_back(last_write[at]);
      reads.push_back({self, last_read[at]});
      last_read[at] = static_cast<int>(reads.size()) - 1;
    }
    for (TensorId t : ops[i].out) {
      const std::size_t at = t.index();
      if (last_write[at] >= 0) mine.push_back(last_write[at]);
      for (int r = last_read[at]; r >= 0; r = reads[static_cast<std::size_t>(r)].next) {
        mine.push_back(reads[static_cast<std::size_t>(r)].op);
      }
      last_write[at] = self;
      last_read[at] = -1;
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    std::erase(mine, self);
    deps[i] = mine;
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
