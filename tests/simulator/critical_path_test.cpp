// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The end of a pipeline is the longest path through the graph of its slots: what a slot needs is
// said here from the orders alone, and Boost.Graph finds the path.
#include <gtest/gtest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <map>
#include <random>
#include <tuple>

#include "simulator/schedule_table.hpp"

namespace pleat {
namespace {

// Lengths are negative: the shortest path is the longest one.
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, double>>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;

struct RandomPipeline {
  Schedule schedule;
  ScheduleTable table;
  std::vector<Seconds> durations;  // [stage][kinds()]
  Seconds transfer;
};

class SlotGraph {
 public:
  explicit SlotGraph(const RandomPipeline& p) : p_(p), begin_(add_vertex(graph_)) {
    for (int s = 0; s < p.schedule.pp; ++s) add_slots(s);
    end_ = add_vertex(graph_);
    for (std::size_t i = 0; i < slots_.size(); ++i) add_needs(i);
  }

  [[nodiscard]] double longest_path() const {
    std::vector<double> distance(num_vertices(graph_));
    dag_shortest_paths(graph_, begin_, boost::distance_map(distance.data()));
    return -distance[end_];
  }

 private:
  using Key = std::tuple<Pass, int, int>;  // virtual stage, microbatch
  struct Node {
    int stage;
    Slot slot;
    Vertex vertex;
    bool last;  // of its stage
  };

  void add_slots(int s) {
    const std::vector<Slot> order = pipeline_order(p_.schedule, Stage{s});
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool writes = order[i].part != SlotPart::weight_gradients;
      if (writes) writers_[key(s, order[i], 0)] = slots_.size();
      slots_.push_back({s, order[i], add_vertex(graph_), i + 1 == order.size()});
    }
  }

  [[nodiscard]] Key key(int s, const Slot& slot, int step) const {
    return {slot.pass, virtual_stage(p_.schedule, Stage{s}, slot.chunk) + step,
            slot.microbatch.value};
  }

  [[nodiscard]] double length(const Node& node) const {
    const auto kind = static_cast<std::size_t>(p_.table.slot_work().alone(node.slot));
    const auto first = static_cast<std::size_t>(node.stage * p_.table.kinds());
    return p_.durations[first + kind].base();
  }

  void add_way(const Node& from, Vertex to, double wait) {
    add_edge(from.vertex, to, -(length(from) + wait), graph_);
  }

  // Whether another stage reads what the slot writes.
  [[nodiscard]] bool sends(const Node& node) const {
    if (node.slot.part == SlotPart::weight_gradients) return false;
    const auto reader =
        writers_.find(key(node.stage, node.slot, node.slot.pass == Pass::forward ? 1 : -1));
    return reader != writers_.end() && slots_[reader->second].stage != node.stage;
  }

  void add_needs(std::size_t i) {
    const Node& node = slots_[i];
    add_edge(begin_, node.vertex, 0.0, graph_);
    // Its stage, which may wait for what it sends.
    const double sent = p_.table.waits_for_sends && sends(node) ? p_.transfer.base() : 0;
    add_way(node, node.last ? end_ : slots_[i + 1].vertex, sent);
    if (node.slot.part == SlotPart::weight_gradients) return;
    // The virtual stage before it on its way; the last one turns round.
    const int last = virtual_stages(p_.schedule) - 1;
    Key before = key(node.stage, node.slot, node.slot.pass == Pass::forward ? -1 : 1);
    if (std::get<1>(before) < 0) return;
    if (std::get<1>(before) > last) before = {Pass::forward, last, node.slot.microbatch.value};
    const Node& from = slots_[writers_.at(before)];
    add_way(from, node.vertex, from.stage == node.stage ? 0 : p_.transfer.base());
  }

  const RandomPipeline& p_;
  Graph graph_;
  std::map<Key, std::size_t> writers_;  // into slots_
  std::vector<Node> slots_;
  Vertex begin_, end_{};
};

RandomPipeline random_pipeline(std::mt19937& random) {
  using enum PipelineSchedule;
  const auto number = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  constexpr PipelineSchedule kinds[] = {one_f_one_b, one_f_one_b, zb_h1,
                                        zb_v,        dualpipe,    dualpipe_v};
  Schedule s{.pp = 1 + number(6), .vpp = 1, .microbatches = 1 + number(12)};
  s.kind = kinds[number(6)];
  if (s.kind != one_f_one_b && s.pp == 1) s.pp = 2;
  if (s.kind == dualpipe) s.pp = 2 * (1 + number(3));
  if (s.kind == zb_v || s.kind == dualpipe_v) s.vpp = 2;
  if (s.kind == dualpipe || s.kind == dualpipe_v) s.microbatches = 2 * s.pp + 2 * number(4);
  if (s.kind == one_f_one_b && s.pp > 1 && number(2) == 0) {
    s.vpp = 2 + number(3);
    s.microbatches = s.pp * (1 + number(4));
  }
  RandomPipeline p{s, tabulate(s), {}, Seconds(number(3))};
  // Interleaved orders wait in warm-up and cool-down alone (docs/MODEL.md section 8).
  p.table.waits_for_sends = s.kind == one_f_one_b && s.vpp == 1 && number(2) == 0;
  for (int i = 0; i < s.pp * p.table.kinds(); ++i) p.durations.emplace_back(1 + number(9));
  return p;
}

TEST(CriticalPath, EndsAllOrdersOfAPipeline) {
  std::mt19937 random(11);
  std::map<PipelineSchedule, int> seen;
  int waits = 0;
  for (int i = 0; i < 600; ++i) {
    const RandomPipeline p = random_pipeline(random);
    const std::vector<Seconds> start(static_cast<std::size_t>(p.schedule.pp));
    ++seen[p.schedule.kind];
    waits += p.table.waits_for_sends && p.schedule.pp > 1;
    EXPECT_DOUBLE_EQ(time_table(p.table, p.durations, start, p.transfer).end.base(),
                     SlotGraph(p).longest_path())
        << "pp " << p.schedule.pp << " vpp " << p.schedule.vpp << " microbatches "
        << p.schedule.microbatches << " kind " << static_cast<int>(p.schedule.kind);
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_GT(waits, 20);
}

}  // namespace
}  // namespace pleat
