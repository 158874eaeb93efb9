// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Threads, messages and TCP: exact results of every collective on 1 to 8 ranks, ragged and empty
// exchanges, messages by sender and tag, many groups at once, and no rank left waiting after a
// failure.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "backend/comm/message_communicator.hpp"
#include "backend/comm/thread_communicator.hpp"
#include "tests/backend/comm_jobs.hpp"

namespace pleat {
namespace {

using test::expect_runs;
using test::Kind;
using test::run_ranks;

std::vector<Rank> all_ranks(int world) {
  std::vector<Rank> ranks;
  for (int r = 0; r < world; ++r) ranks.push_back({r});
  return ranks;
}

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}
template <class T>
std::span<std::byte> writable(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

// Values whose sum depends on the order of addition.
float value(int rank, std::size_t i) {
  return std::ldexp(1.0F + static_cast<float>((rank * 37 + static_cast<int>(i) * 11) % 101) / 97.0F,
                    (rank * 5 + static_cast<int>(i)) % 23) *
         ((rank + static_cast<int>(i)) % 2 == 0 ? 1.0F : -1.0F);
}
float sum_in_rank_order(int world, std::size_t i) {
  float sum = value(0, i);
  for (int r = 1; r < world; ++r) sum += value(r, i);
  return sum;
}

class Comm : public ::testing::TestWithParam<test::JobShape> {};
std::vector<test::JobShape> shapes() {
  std::vector<test::JobShape> all;
  for (const Kind kind : {Kind::threads, Kind::messages, Kind::tcp, Kind::tcp_pairs}) {
    for (const int world : {1, 2, 3, 4, 8}) all.push_back({kind, world});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Jobs, Comm, ::testing::ValuesIn(shapes()),
                         [](const auto& info) { return test::name_of(info.param); });

// Member r has r elements: the first none.
TEST_P(Comm, RaggedGatherAndSumInRankOrder) {
  const int world = GetParam().world;
  std::vector<std::int64_t> elements, sizes;
  for (int r = 0; r < world; ++r) {
    elements.push_back(r);
    sizes.push_back(r * static_cast<std::int64_t>(sizeof(float)));
  }
  const auto total = static_cast<std::size_t>(world * (world - 1) / 2);
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    const auto me = static_cast<std::size_t>(comm->rank());
    std::vector<float> mine(me, static_cast<float>(me)), all(total), want, sums(me);
    for (int r = 0; r < world; ++r)
      want.insert(want.end(), static_cast<std::size_t>(r), static_cast<float>(r));
    comm->all_gather_ragged(bytes(mine), writable(all), sizes);
    EXPECT_EQ(all, want);
    for (std::size_t i = 0; i < total; ++i) all[i] = value(comm->rank(), i);
    comm->reduce_scatter_ragged(all, sums, elements);
    for (std::size_t i = 0; i < me; ++i) {
      EXPECT_EQ(sums[i], sum_in_rank_order(world, me * (me - 1) / 2 + i));
    }
  });
}

// Sums of bf16 are in fp32 and rounded once, also above what one round takes and in ragged shares.
TEST_P(Comm, AddsBf16InFp32) {
  const int world = GetParam().world;
  const auto ranks = static_cast<std::size_t>(world);
  const auto narrow = [](int rank, std::size_t i) { return to_bf16(value(rank, i)); };
  const auto sum = [&](std::size_t i) {
    float all = to_float(narrow(0, i));
    for (int r = 1; r < world; ++r) all += to_float(narrow(r, i));
    return to_bf16(all);
  };
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    const auto me = static_cast<std::size_t>(comm->rank());
    for (const std::size_t n : {std::size_t{3}, std::size_t{1500}}) {
      std::vector<Bf16> data(n * ranks), piece(n), own(n);
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = narrow(comm->rank(), i);
      comm->reduce_scatter(data, piece);
      comm->reduce_scatter_ragged(data, own, std::vector(ranks, static_cast<std::int64_t>(n)));
      comm->all_reduce(data);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(piece[i], sum(me * n + i)) << i;
        ASSERT_EQ(own[i], sum(me * n + i)) << i;
      }
      for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], sum(i)) << i;
    }
  });
}

TEST_P(Comm, AllGatherInRankOrder) {
  const int world = GetParam().world;
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
      const std::vector<std::int32_t> mine(n, comm->rank() * 10 + static_cast<int>(n));
      std::vector<std::int32_t> all(n * static_cast<std::size_t>(world), -1);
      comm->all_gather(bytes(mine), writable(all));
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i], static_cast<int>(i / n) * 10 + static_cast<int>(n));
      }
    }
  });
}

TEST_P(Comm, AllGatherInPlace) {
  const int world = GetParam().world;
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    std::vector<std::int32_t> all(static_cast<std::size_t>(world), -1);
    const auto me = static_cast<std::size_t>(comm->rank());
    all[me] = comm->rank() + 100;
    comm->all_gather(bytes(all).subspan(me * 4, 4), writable(all));
    for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], static_cast<int>(r) + 100);
  });
}

TEST_P(Comm, ReductionsAddInRankOrderToTheBit) {
  const int world = GetParam().world;
  for (int repeat = 0; repeat < 3; ++repeat) {
    expect_runs(GetParam(), [&](Transport& t) {
      const auto comm = t.group(all_ranks(world));
      for (const std::size_t each : {std::size_t{0}, std::size_t{1}, std::size_t{67}}) {
        std::vector<float> data(each * static_cast<std::size_t>(world));
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(comm->rank(), i);
        std::vector<float> piece(each, NAN);
        comm->reduce_scatter(data, piece);
        comm->all_reduce(data);
        const std::size_t begin = each * static_cast<std::size_t>(comm->rank());
        for (std::size_t i = 0; i < data.size(); ++i) {
          const auto want = std::bit_cast<std::uint32_t>(sum_in_rank_order(world, i));
          EXPECT_EQ(std::bit_cast<std::uint32_t>(data[i]), want);
          if (i < begin || i >= begin + each) continue;
          EXPECT_EQ(std::bit_cast<std::uint32_t>(piece[i - begin]), want);
        }
      }
    });
  }
}

TEST_P(Comm, AllReduceOfFewerElementsThanRanks) {
  const int world = GetParam().world;
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    std::vector<float> one = {static_cast<float>(comm->rank() + 1)};
    comm->all_reduce(one);
    EXPECT_EQ(one[0], static_cast<float>(world * (world + 1) / 2));
  });
}

// Rank s sends (s * 3 + d) % 4 values to rank d, so that some pairs exchange nothing, and rank 0
// nothing at all.
TEST_P(Comm, RaggedAllToAllWithEmptyPieces) {
  const int world = GetParam().world;
  const auto count = [](int s, int d) { return s == 0 ? 0 : (s * 3 + d) % 4; };
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    const int me = comm->rank();
    std::vector<std::int32_t> send, want;
    std::vector<std::int64_t> send_bytes, recv_bytes;
    for (int other = 0; other < world; ++other) {
      for (int i = 0; i < count(me, other); ++i) send.push_back(me * 1000 + other * 10 + i);
      for (int i = 0; i < count(other, me); ++i) want.push_back(other * 1000 + me * 10 + i);
      send_bytes.push_back(4 * count(me, other));
      recv_bytes.push_back(4 * count(other, me));
    }
    std::vector<std::int32_t> got(want.size(), -1);
    comm->all_to_all(bytes(send), send_bytes, writable(got), recv_bytes);
    EXPECT_EQ(got, want);
  });
}

TEST_P(Comm, MessagesMatchSenderAndTagInOrder) {
  const int world = GetParam().world;
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    const int me = comm->rank(), next = (me + 1) % world, previous = (me + world - 1) % world;
    for (int i = 0; i < 3; ++i) {  // everyone sends first: a send that waited would hang
      for (const int tag : {7, 9}) {
        std::vector<std::int32_t> message = {me * 100 + tag * 10 + i};
        comm->send(next, bytes(message), tag);
        message[0] = -1;  // buffered: the sender may reuse its memory
      }
    }
    comm->send(next, {}, 8);
    for (const int tag : {9, 7}) {
      for (int i = 0; i < 3; ++i) {
        std::vector<std::int32_t> got = {-1};
        comm->recv(previous, writable(got), tag);
        EXPECT_EQ(got[0], previous * 100 + tag * 10 + i);
      }
    }
    comm->recv(previous, {}, 8);
  });
}

TEST_P(Comm, BarrierHoldsEveryRankBack) {
  const int world = GetParam().world;
  std::atomic<int> arrived = 0;
  expect_runs(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(world));
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      comm->barrier();
      EXPECT_GE(arrived.load(), round * world);
      comm->barrier();
    }
  });
  EXPECT_EQ(arrived.load(), 50 * world);
}

class CommGroups : public ::testing::TestWithParam<test::JobShape> {};
INSTANTIATE_TEST_SUITE_P(Jobs, CommGroups,
                         ::testing::Values(test::JobShape{Kind::threads, 8},
                                           test::JobShape{Kind::messages, 8},
                                           test::JobShape{Kind::tcp, 8},
                                           test::JobShape{Kind::tcp_pairs, 8}),
                         [](const auto& info) { return test::name_of(info.param); });

// Every collective in pieces of eight bytes, so that whole ones, parts and nothing travel.
TEST(CommPieces, LongMessagesTravelInPieces) {
  constexpr int kWorld = 3;
  const auto hub = std::make_shared<MessageHub>(Rank{0}, kWorld);
  std::vector<std::jthread> threads;
  for (int me = 0; me < kWorld; ++me) {
    threads.emplace_back([&hub, me] {
      MessageCommunicator comm(hub, all_ranks(kWorld), me, 7, 8);
      std::vector<float> data(3001), piece(1001), all(3003);
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(me, i);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = value(me, i);
      comm.all_reduce(data);
      for (std::size_t i = 0; i < data.size(); ++i) {
        EXPECT_EQ(data[i], sum_in_rank_order(kWorld, i));
      }
      comm.reduce_scatter(all, piece);
      const std::size_t begin = 1001 * static_cast<std::size_t>(me);
      for (std::size_t i = 0; i < piece.size(); ++i) {
        EXPECT_EQ(piece[i], sum_in_rank_order(kWorld, begin + i));
      }
      comm.all_gather(bytes(piece), writable(all));
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], sum_in_rank_order(kWorld, i));
      const int next = (me + 1) % kWorld, previous = (me + 2) % kWorld;
      comm.send(next, bytes(data).first(13), 5);
      std::vector<std::byte> got(13);
      comm.recv(previous, got, 5);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes(data).begin()));
    });
  }
}

TEST_P(CommGroups, RowsAndColumnsAliveTogetherAndMadeAgain) {
  // 2 rows of 4, 4 columns of 2
  expect_runs(GetParam(), [&](Transport& t) {
    const int me = t.rank().value;
    std::vector<Rank> row, column;
    for (int i = 0; i < 4; ++i) row.push_back({me / 4 * 4 + i});
    for (int i = 1; i >= 0; --i) column.push_back({me % 4 + 4 * i});  // order is the caller's
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto along_row = t.group(row), along_column = t.group(column);
      const auto second_row = t.group(row);
      EXPECT_EQ(along_row->rank(), me % 4);
      EXPECT_EQ(along_column->rank(), 1 - me / 4);
      std::vector<float> a = {static_cast<float>(me)}, b = a;
      along_row->all_reduce(a);
      along_column->all_reduce(b);
      EXPECT_EQ(a[0], static_cast<float>(me < 4 ? 6 : 22));
      EXPECT_EQ(b[0], static_cast<float>(2 * (me % 4) + 4));
      // Two groups of the same members do not take each other's messages.
      std::vector<std::int32_t> one = {1}, two = {2}, got = {0};
      const int next = (me + 1) % 4, previous = (me + 3) % 4;
      along_row->send(next, bytes(one), 0);
      second_row->send(next, bytes(two), 0);
      second_row->recv(previous, writable(got), 0);
      EXPECT_EQ(got[0], 2);
      along_row->recv(previous, writable(got), 0);
      EXPECT_EQ(got[0], 1);
    }
  });
}

class CommAbort : public ::testing::TestWithParam<test::JobShape> {};
INSTANTIATE_TEST_SUITE_P(Jobs, CommAbort,
                         ::testing::Values(test::JobShape{Kind::threads, 4},
                                           test::JobShape{Kind::messages, 4},
                                           test::JobShape{Kind::tcp, 4},
                                           test::JobShape{Kind::tcp_pairs, 4}),
                         [](const auto& info) { return test::name_of(info.param); });

TEST_P(CommAbort, WakesRanksThatWaitAndNamesTheOneThatFailed) {
  constexpr int kWorld = 4;
  const auto thrown = run_ranks(GetParam(), [&](Transport& t) {
    const auto comm = t.group(all_ranks(kWorld));
    comm->barrier();
    std::vector<float> data(3, 1.0F);
    switch (t.rank().value) {
      case 0:
        comm->all_reduce(data);
        break;
      case 1:
        comm->recv(2, std::as_writable_bytes(std::span(data)), 5);
        break;
      case 2:
        comm->barrier();
        break;
      case 3:
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // let the others fall asleep
        t.abort("out of memory");
        break;
    }
  });
  const std::string message = "rank 3 failed: out of memory";
  EXPECT_EQ(thrown, (std::vector<std::string>{message, message, message, ""}));
}

TEST(CommAbortOfThreads, FirstReasonStaysAndLaterCallsThrow) {
  auto transports = make_thread_transports(2);
  const auto comm = transports[0]->group({{0}, {1}});
  transports[1]->abort("first");
  transports[0]->abort("second");
  const auto thrown = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing";
  };
  std::vector<float> data = {1.0F};
  EXPECT_EQ(thrown([&] { comm->all_reduce(data); }), "rank 1 failed: first");
  EXPECT_EQ(thrown([&] { comm->send(1, {}, 0); }), "rank 1 failed: first");
  EXPECT_EQ(thrown([&] { comm->recv(1, {}, 0); }), "rank 1 failed: first");
  EXPECT_EQ(thrown([&] { (void)transports[0]->group({{0}, {1}}); }), "rank 1 failed: first");
}

// A rank fails at a random moment of a stream of collectives on buffers that die with their rank.
TEST_P(CommAbort, AnyMomentEndsEveryRank) {
  constexpr int kWorld = 4;
  for (int moment = 0; moment < 12; ++moment) {
    const auto thrown = run_ranks(GetParam(), [&](Transport& t) {
      const auto comm = t.group(all_ranks(kWorld));
      const auto row =
          t.group(t.rank().value < 2 ? std::vector<Rank>{{0}, {1}} : std::vector<Rank>{{2}, {3}});
      for (int i = 0;; ++i) {
        if (t.rank().value == moment % kWorld && i == moment) {
          t.abort("moment");
          return;
        }
        std::vector<float> data(1000, 1.0F);
        row->all_reduce(data);
        if (i % 3 == 0) comm->all_reduce(data);
      }
    });
    for (int r = 0; r < kWorld; ++r) {
      const std::string want =
          r == moment % kWorld ? "" : "rank " + std::to_string(moment % kWorld) + " failed: moment";
      EXPECT_EQ(thrown[static_cast<std::size_t>(r)], want);
    }
  }
}

}  // namespace
}  // namespace pleat
