// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How processes find each other, and what all of them are told when they do not.
#include "backend/comm/rendezvous.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "backend/comm/job_part.hpp"

namespace pleat {
namespace {

struct Come {
  int process = 0, ranks = 1;
  std::string fingerprint = "same";
};

struct Told {
  Address at;
  std::vector<std::string> problems;  // "" where a roster came
  std::vector<Roster> rosters;
  double seconds = 0;
};

// Each on a thread of its own; process 0 listens at a free port.
Told meet_all(int processes, int world, const std::vector<Come>& who, double timeout_s) {
  Socket listener = listen_at({"127.0.0.1", 0});
  Told told{listener.local(), std::vector<std::string>(who.size()), std::vector<Roster>(who.size()),
            0};
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<Met> met(who.size());  // process 0 serves the others until all have met
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < who.size(); ++i) {
      auto m = std::make_shared<Meeting>();
      m->at = {told.at};
      m->process = who[i].process;
      m->processes = processes;
      m->ranks = who[i].ranks;
      m->world = world;
      m->fingerprint = who[i].fingerprint;
      m->timeout_s = timeout_s;
      if (m->process == 0) m->listener = std::move(listener);
      threads.emplace_back([&told, &met, i, m] {
        try {
          met[i] = meet(std::move(*m));
          told.rosters[i] = met[i].roster;
        } catch (const std::runtime_error& e) {
          told.problems[i] = e.what();
        }
      });
    }
  }
  told.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return told;
}

std::vector<std::string> all_say(std::size_t count, const std::string& text) {
  return std::vector<std::string>(count, text);
}

TEST(Rendezvous, EveryoneGetsTheSameRoster) {
  const Told told = meet_all(3, 6, {{0, 1}, {1, 3}, {2, 2}}, 10);
  EXPECT_EQ(told.problems, all_say(3, ""));
  for (const Roster& r : told.rosters) {
    EXPECT_EQ(r.epoch, told.rosters[0].epoch);
    ASSERT_EQ(r.processes.size(), 3U);
    EXPECT_EQ(r.processes[1].first_rank, 1);
    EXPECT_EQ(r.processes[2].first_rank, 4);
    EXPECT_EQ(ranks_text(r.processes[0]), "rank 0");
    EXPECT_EQ(ranks_text(r.processes[1]), "ranks 1-3");
    EXPECT_EQ(r.processes[1].address, told.rosters[0].processes[1].address);
  }
}

TEST(Rendezvous, NamesTheProcessesThatDidNotCome) {
  const Told told = meet_all(5, 5, {{0}, {2}, {4}}, 0.5);
  EXPECT_EQ(told.problems,
            all_say(3, fmt::format("processes 1, 3 of 5 did not come to {} within 0.5 s",
                                   to_text(told.at))));
  EXPECT_LT(told.seconds, 5);
}

TEST(Rendezvous, NamesTheProcessThatCameTwice) {
  const Told told = meet_all(3, 3, {{0}, {1}, {1}}, 10);
  EXPECT_EQ(told.problems, all_say(3, fmt::format("process 1 is there twice, the second time on {}",
                                                  host_name())));
}

TEST(Rendezvous, RefusesAProcessThatRunsSomethingElse) {
  const Told told = meet_all(2, 2, {{0}, {1, 1, "other"}}, 10);
  EXPECT_EQ(told.problems,
            all_say(2, fmt::format("process 1 on {0} was started with another plan, model, data or "
                                   "settings than process 0 on {0}",
                                   host_name())));
}

TEST(Rendezvous, RanksMustAddUp) {
  const Told told = meet_all(2, 4, {{0}, {1}}, 10);
  EXPECT_EQ(told.problems, all_say(2, "the processes bring 2 ranks, the plan has 4"));
}

TEST(Rendezvous, NobodyWaitsForOneThatLeft) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  const StoreServer server(std::move(listener), JobSecret());
  StoreClient waits(at, JobSecret(), 0, "process 0", after(5));
  auto leaves = std::make_unique<StoreClient>(at, JobSecret(), 1, "process 1 on n1", after(5));
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    leaves.reset();
  });
  try {
    static_cast<void>(waits.get("roster", after(30)));
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "process 1 on n1 left while the job was forming");
  }
}

TEST(Rendezvous, AnAddressThatNobodyListensAtIsNamed) {
  const Address at = listen_at({"127.0.0.1", 0}).local();  // closed again
  Meeting m;
  m.at = {at};
  m.process = 1;
  m.processes = 2;
  m.timeout_s = 0.2;
  try {
    static_cast<void>(meet(std::move(m)));
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(), fmt::format("cannot reach {}: Connection refused", to_text(at)));
  }
}

TEST(Rendezvous, APortThatIsTakenIsNamed) {
  const Socket holder = listen_at({"127.0.0.1", 0});
  Meeting m;
  m.at = {holder.local()};
  try {
    static_cast<void>(meet(std::move(m)));
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(),
              fmt::format("cannot listen at {}: Address already in use", to_text(holder.local())));
  }
}

TEST(Store, SetsGetsAndWaits) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  const StoreServer server(std::move(listener), JobSecret());
  StoreClient a(at, JobSecret(), 0, "a", after(5)), b(at, JobSecret(), 0, "b", after(5));
  EXPECT_TRUE(a.set("key", "value", after(5)));
  EXPECT_EQ(b.get("key", after(5)), "value");
  EXPECT_TRUE(b.set("key", "value", after(5)));  // nothing new
  EXPECT_FALSE(b.set("key", "other", after(5)));
  EXPECT_EQ(a.get("key", after(5)), "value");
  EXPECT_THROW(static_cast<void>(a.get("never", after(0.05))), StoreTimeout);
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    static_cast<void>(b.set("late", std::string(200'000, 'x'), after(5)));
  });
  EXPECT_EQ(a.get("late", after(5)), std::string(200'000, 'x'));
}

TEST(Store, StrangersAreNotTalkedTo) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  const StoreServer server(std::move(listener), JobSecret());
  StoreClient known(at, JobSecret(), 0, "known", after(5));
  const Socket stranger = connect_until(at, after(5));
  const std::string request = "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n";
  stranger.send_exact(std::as_bytes(std::span(request)), after(5));
  std::byte answer;
  EXPECT_THROW(stranger.recv_exact({&answer, 1}, after(5)), std::runtime_error);
  EXPECT_TRUE(known.set("key", "value", after(5)));
}

// Something else calls at a mesh's port before its peer does.
TEST(TcpMesh, StrangersDoNotTakeAPeersPlace) {
  Socket first = listen_at({"127.0.0.1", 0}), second = listen_at({"127.0.0.1", 0});
  const Roster roster{42, {{0, 1, first.local()}, {1, 1, second.local()}}};
  const Socket stranger = connect_until(first.local(), after(5));
  const std::string junk(64, 'x');
  stranger.send_exact(std::as_bytes(std::span(junk)), after(5));
  MessageHub hub0(Rank{0}, 1), hub1(Rank{1}, 1);
  std::jthread other([&] {
    TcpMesh mesh(roster, 1, std::move(second), JobSecret(), hub1, {});
    mesh.send({Rank{1}, Rank{0}, {7, 0, 1}}, std::as_bytes(std::span("hello", 5)));
  });
  const TcpMesh mesh(roster, 0, std::move(first), JobSecret(), hub0, {});
  EXPECT_EQ(hub0.take({Rank{1}, Rank{0}, {7, 0, 1}}).size, 5U);
}

TEST(TcpMesh, APeerThatDoesNotConnectIsNamed) {
  Socket first = listen_at({"127.0.0.1", 0});
  const Roster roster{42, {{0, 2, first.local()}, {2, 2, {"127.0.0.1", 1}}}};
  MessageHub hub(Rank{0}, 2);
  try {
    const TcpMesh mesh(roster, 0, std::move(first), JobSecret(), hub, {.meet_s = 0.2});
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "ranks 2-3 did not connect within 0.2 s");
  }
}

}  // namespace
}  // namespace pleat
