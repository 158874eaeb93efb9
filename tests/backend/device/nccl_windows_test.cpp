// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Symmetric windows, with a stand-in for NCCL: who registers what and when, that all of it is taken
// back, and that training goes on without them wherever something stands in the way.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>

#include "backend/device_memory.hpp"
#include "core/plan/rank_map.hpp"
#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/nccl_ranks.hpp"

namespace pleat::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const NcclFunctions& fake_with_windows() {
  static const auto functions = load_nccl(PLEAT_FAKE_NCCL);
  return *functions;
}
int of_fake(const char* name) {
  static void* const library = dlopen(PLEAT_FAKE_NCCL, RTLD_NOW);
  return reinterpret_cast<int (*)()>(dlsym(library, name))();
}

// What was called, of all ranks, one after the other.
enum class Call { allocate, free, open, close, end };
struct Event {
  Call call;
  const void *comm, *data;
  std::string group;  // of the communicator: its id
};
struct Log {
  std::mutex mutex;
  std::vector<Event> events;
  std::map<const void*, std::string> groups;
  std::map<const void*, const void*> slabs;  // of a communicator's open window
  void add(Call call, const void* comm, const void* data) {
    const std::lock_guard lock(mutex);
    if (call == Call::open) slabs[comm] = data;
    const void* const slab = call == Call::close ? slabs.at(comm) : data;
    events.push_back({call, comm, slab, comm == nullptr ? "" : groups.at(comm)});
  }
};
Log& the_log() {
  static Log log;
  return log;
}

// The stand-in's functions, which are written down.
std::shared_ptr<NcclFunctions> logged() {
  the_log().events.clear();
  auto f = std::make_shared<NcclFunctions>(fake_with_windows());
  f->comm_init_rank_config = [](NcclComm* comm, int ranks, NcclId id, int rank,
                                NcclConfig* config) {
    const int result = fake_with_windows().comm_init_rank_config(comm, ranks, id, rank, config);
    const std::lock_guard lock(the_log().mutex);
    the_log().groups[*comm] = id.bytes;
    return result;
  };
  f->mem_alloc = [](void** data, std::size_t bytes) {
    const int result = fake_with_windows().mem_alloc(data, bytes);
    the_log().add(Call::allocate, nullptr, *data);
    return result;
  };
  f->mem_free = [](void* data) {
    the_log().add(Call::free, nullptr, data);
    return fake_with_windows().mem_free(data);
  };
  f->comm_window_register = [](NcclComm comm, void* data, std::size_t bytes, NcclWindow* w,
                               int flags) {
    the_log().add(Call::open, comm, data);
    return fake_with_windows().comm_window_register(comm, data, bytes, w, flags);
  };
  f->comm_window_deregister = [](NcclComm comm, NcclWindow w) {
    the_log().add(Call::close, comm, nullptr);
    return fake_with_windows().comm_window_deregister(comm, w);
  };
  f->comm_destroy = [](NcclComm comm) {
    the_log().add(Call::end, comm, nullptr);
    return fake_with_windows().comm_destroy(comm);
  };
  return f;
}

// Lines that ranks say, sorted.
class Lines {
 public:
  [[nodiscard]] NcclSettings settings(bool ordered = true) {
    return {.ordered_sums = ordered, .windows = true, .say = [this](const std::string& line) {
              const std::lock_guard lock(mutex_);
              lines_.insert(line);
            }};
  }
  [[nodiscard]] const std::set<std::string>& said() const { return lines_; }

 private:
  std::mutex mutex_;
  std::set<std::string> lines_;
};

const DeviceCase& case_named(const std::string& name) {
  static const std::vector<DeviceCase> all = device_cases();
  return *std::ranges::find(all, name, &DeviceCase::name);
}

TrainConfig device_config(const DeviceCase& c) {
  TrainConfig config = small_config(2);
  config.forced_routing = c.forced;
  skew(config);
  return config;
}

TrainResult train_with(const DeviceCase& c, const std::shared_ptr<const NcclFunctions>& functions,
                       const NcclSettings& settings) {
  TrainConfig config = device_config(c);
  config.poison = false;
  config.make_device = [](Rank) {
    return std::make_unique<CheckingDevice>(
        CheckingDevice::Options{.by_itself = true, .streams = true});
  };
  JobPart part = JobPart::of_threads(c.plan.world());
  part.use_nccl(functions, settings);
  return train(compile(c.model, c.workload, c.plan, Runtime::pleat), config, part);
}

// The arena's blocks are the rehearsed ones, those in the slab among them.
void expect_blocks(const DeviceCase& c, const TrainResult& result) {
  const Program program = compile(c.model, c.workload, c.plan, Runtime::pleat);
  for (int r = 0; r < c.plan.world(); ++r) {
    const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
    const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
      return rank.routed.at({m.value, l.value});
    };
    const Stage stage{attention_coordinates(c.plan, Rank{r}).pp};
    const DeviceBytes bytes = predicted_device_bytes(
        program, stage, routed, {.nccl = true, .windows = true});
    EXPECT_LE(bytes.blocks, rank.block_bytes)
        << r;  // routing of the first step may have needed others
    if (!c.model.moe) {
      EXPECT_EQ(bytes.blocks, rank.block_bytes) << r;
    }
  }
}

void expect_host_bits(const DeviceCase& c, const TrainResult& there) {
  const TrainResult here =
      train(compile(c.model, c.workload, c.plan, Runtime::pleat), device_config(c));
  expect_same_bits(there.gradients, here.gradients);
  expect_same_bits(there.weights, here.weights);
}

class Windows : public testing::TestWithParam<const char*> {};

// The stand-in refuses collectives whose members pass other offsets of their windows, so that it
// trains says that the ranks' slabs are alike.
TEST_P(Windows, CollectivesRunInThemWithTheSameBits) {
  const DeviceCase& c = case_named(GetParam());
  const int before = of_fake("fakeNcclCallsInWindows");
  Lines lines;
  const TrainResult there = train_with(c, logged(), lines.settings());
  expect_host_bits(c, there);
  expect_blocks(c, there);
  const int ordered = of_fake("fakeNcclCallsInWindows") - before;
  EXPECT_GT(ordered, 0);
  EXPECT_EQ(of_fake("fakeNcclOpenWindows"), 0);
  EXPECT_THAT(lines.said(), Each(testing::StartsWith("symmetric window over ")));
  // Sums in NCCL's own order are its collectives, too.
  static_cast<void>(train_with(c, logged(), lines.settings(false)));
  EXPECT_GT(of_fake("fakeNcclCallsInWindows") - before - ordered, ordered);
}

INSTANTIATE_TEST_SUITE_P(Cases, Windows,
                         testing::Values("Folded", "Zero2", "Zero3", "Ring", "GatheredKeys", "Bf16",
                                         "Muon", "Recomputed", "AllGather", "PagedStash",
                                         "OssOnShares"),
                         [](const auto& info) { return info.param; });

TEST(NcclWindows, AllRanksRegisterInOneOrderAndTakeBackBeforeMemoryAndCommunicatorGo) {
  Lines lines;
  const DeviceCase& c = case_named("Folded");  // tp, dp and two stages
  static_cast<void>(train_with(c, logged(), lines.settings()));
  const std::vector<Event>& events = the_log().events;
  std::map<const void*, std::vector<std::string>> of_rank;  // by its slab: groups in their order
  std::map<const void*, int> open;                          // windows, by slab and by communicator
  int allocated = 0;
  for (const Event& e : events) {
    switch (e.call) {
      case Call::allocate:
        ++allocated;
        break;
      case Call::open:
        of_rank[e.data].push_back(e.group);
        ++open[e.data], ++open[e.comm];
        break;
      case Call::close:
        --open[e.data], --open[e.comm];
        break;
      case Call::free:
        --allocated;
        [[fallthrough]];
      case Call::end:
        EXPECT_EQ(open[e.call == Call::end ? e.comm : e.data], 0);
        break;
    }
  }
  EXPECT_EQ(allocated, 0);
  EXPECT_EQ(std::ssize(of_rank), c.plan.world()) << testing::PrintToString(lines.said());
  for (const auto& [slab, windows] : open) EXPECT_EQ(windows, 0);
  for (const auto& [a, of_a] : of_rank) {
    EXPECT_GE(of_a.size(), 2U);
    for (const auto& [b, of_b] : of_rank) {
      std::vector<std::string> common_of_a, common_of_b;
      const auto in = [](const auto& list) {
        return [&list](const std::string& g) { return std::ranges::find(list, g) != list.end(); };
      };
      std::ranges::copy_if(of_a, std::back_inserter(common_of_a), in(of_b));
      std::ranges::copy_if(of_b, std::back_inserter(common_of_b), in(of_a));
      EXPECT_EQ(common_of_a, common_of_b);
    }
  }
}

TEST(NcclWindows, NobodyAskedForThem) {
  Lines lines;
  NcclSettings settings = lines.settings();
  settings.windows = false;
  static_cast<void>(train_with(case_named("Folded"), logged(), settings));
  for (const Event& e : the_log().events) EXPECT_EQ(e.call, Call::end);
  EXPECT_THAT(lines.said(), testing::IsEmpty());
}

TEST(NcclWindows, LibraryThatHasNone) {
  const auto old = load_nccl(PLEAT_FAKE_NCCL_OLD);
  EXPECT_FALSE(old->has_windows());
  EXPECT_TRUE(fake_with_windows().has_windows());
  Lines lines;
  const DeviceCase& c = case_named("Zero2");
  expect_host_bits(c, train_with(c, old, lines.settings()));
  EXPECT_THAT(lines.said(),
              Each(HasSubstr(": NCCL 2.24.3 of member 0 has none, 2.27 is the first that does")));
  EXPECT_THAT(lines.said(),
              testing::Contains(testing::StartsWith("no symmetric window over dp_cp: ")));
}

// All ranks in one group, with a piece of NCCL's memory each and a sum in it at the end.
std::vector<std::string> sum_in_window(
    const std::shared_ptr<const NcclFunctions>& f, Lines& lines,
    const std::function<void(int rank, WindowBuffer&)>& change = {}, bool registers = false) {
  return run_on_devices(Kind::threads, 3, f, lines.settings(false),
                        [&](Device& d, Communicator& comm, Transport&) {
                          const auto memory = comm.window_memory();
                          std::byte* const piece = memory->allocate(8192);
                          WindowBuffer buffer{{piece, std::size_t{8192}}, 7, "all"};
                          if (change) change(comm.rank(), buffer);
                          {
                            const auto window = comm.register_window(buffer);
                            EXPECT_EQ(window != nullptr, registers);
                            for (int twice = 0; twice < 2; ++twice) {
                              const std::vector<float> mine = values(comm.rank(), 5);
                              d.copy(piece + 4096, mine.data(), 20);
                              comm.all_reduce(std::span(reinterpret_cast<float*>(piece + 4096), 5));
                              std::vector<float> sums(5);
                              d.copy(sums.data(), piece + 4096, 20);
                              for (std::size_t i = 0; i < 5; ++i)
                                EXPECT_EQ(sums[i], sum_in_rank_order(3, i));
                            }
                            comm.barrier();
                          }
                          memory->release(piece);
                        });
}

TEST(NcclWindows, OneOfAGroup) {
  Lines lines;
  EXPECT_THAT(sum_in_window(logged(), lines, {}, true), Each(""));
  EXPECT_THAT(lines.said(),
              ElementsAre("symmetric window over all: 0.01 MiB on each of 3 members"));
}

TEST(NcclWindows, MembersThatAreNotAlike) {
  Lines sizes, layouts;
  const auto refusing = logged();
  EXPECT_THAT(sum_in_window(refusing, sizes,
                            [](int rank, WindowBuffer& b) {
                              if (rank == 1) b.memory = b.memory.first(4096);
                            }),
              Each(""));
  EXPECT_THAT(sizes.said(),
              ElementsAre("no symmetric window over all: member 1 has 4096 bytes, member 0 8192"));
  EXPECT_THAT(sum_in_window(refusing, layouts,
                            [](int rank, WindowBuffer& b) { b.layout = rank == 2 ? 8 : 7; }),
              Each(""));
  EXPECT_THAT(
      layouts.said(),
      ElementsAre("no symmetric window over all: buffers of member 2 lie at other offsets than "
                  "those of member 0"));
  for (const Event& e : the_log().events) EXPECT_NE(e.call, Call::open);
}

TEST(NcclWindows, MemoryThatNcclDoesNotGive) {
  Lines lines;
  auto f = logged();
  f->mem_alloc = [](void**, std::size_t) { return 1; };
  EXPECT_THAT(sum_in_window(f, lines), Each(""));
  EXPECT_THAT(lines.said(),
              ElementsAre("no symmetric window over all: NCCL has no 0.01 MiB for member 0"));
}

// The first member that asks gets none: the communicator of all is made anew.
std::atomic<int> asked = 0;
TEST(NcclWindows, RegistrationThatOneMemberIsRefused) {
  Lines lines;
  auto f = logged();
  asked = 0;
  f->comm_window_register = [](NcclComm comm, void* data, std::size_t bytes, NcclWindow* w,
                               int flags) {
    return asked++ == 0 ? 5 : fake_with_windows().comm_window_register(comm, data, bytes, w, flags);
  };
  EXPECT_THAT(sum_in_window(f, lines), Each(""));
  EXPECT_THAT(lines.said(),
              ElementsAre(testing::MatchesRegex(
                  "no symmetric window over all: ncclCommWindowRegister on member .: .*")));
  EXPECT_EQ(of_fake("fakeNcclOpenWindows"), 0);
}

// As NCCL does where GPUs have no direct access: success, and no window.
TEST(NcclWindows, RegistrationThatGivesNone) {
  Lines lines;
  auto f = logged();
  f->comm_window_register = [](NcclComm, void*, std::size_t, NcclWindow*, int) {
    return kNcclSuccess;
  };
  EXPECT_THAT(sum_in_window(f, lines), Each(""));
  EXPECT_THAT(lines.said(),
              ElementsAre("no symmetric window over all: NCCL gives none to member 0, as "
                          "between GPUs without direct access"));
  EXPECT_THAT(the_log().events,
              testing::Not(testing::Contains(testing::Field(&Event::call, Call::close))));
}

// An aborted communicator takes its window with it: nothing is called on it any more.
TEST(NcclWindows, LostRankEndsTheOthers) {
  Lines lines;
  const DeviceCase& c = case_named("Zero2");
  TrainConfig config = device_config(c);
  config.poison = false;
  config.make_device = [](Rank) { return std::make_unique<CheckingDevice>(true); };
  config.before_op = [](Rank rank, const Op& op, int step) {
    if (rank.value == 1 && step == 1 && family_of(op.kind) == OpKind::reduce_scatter) {
      throw std::runtime_error("its power went off");
    }
  };
  JobPart part = JobPart::of_threads(c.plan.world());
  part.use_nccl(logged(), lines.settings(false));
  EXPECT_THAT(
      [&] {
        static_cast<void>(
            train(compile(c.model, c.workload, c.plan, Runtime::pleat), config, part));
      },
      testing::ThrowsMessage<std::runtime_error>(HasSubstr("its power went off")));
  EXPECT_THAT(lines.said(),
              testing::Contains(testing::StartsWith("symmetric window over dp_cp: ")));
  EXPECT_EQ(of_fake("fakeNcclOpenWindows"), 0);
}

}  // namespace
}  // namespace pleat::test
