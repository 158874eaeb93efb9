// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Who may join a job: strangers at every step of the handshake, replays, wrong jobs, floods and
// slow senders. The job forms all the same, or ends with the reason; nothing waits for ever.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "backend/comm/job_part.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/edited_stream.hpp"

namespace pleat {
namespace {

const JobSecret kSecret("the secret of this job, 32 letters"),
    kOther("the secret of another job, longer");

using test::Bytes;
using test::EditedStream;

constexpr std::size_t kHandshake = sizeof(Hello) + sizeof(Proof);
constexpr std::size_t kQuestion = 3 * 4 + sizeof(Tags);  // of the store, without key and value

std::vector<Bytes> unchanged(std::size_t, Bytes b) { return {std::move(b)}; }

// One bit of the stream's byte `at`.
EditedStream::Edit changes(std::size_t at) {
  return [at](std::size_t begin, Bytes b) {
    if (at >= begin && at - begin < b.size()) b[at - begin] ^= std::byte{1};
    return std::vector<Bytes>{std::move(b)};
  };
}

struct Store {
  explicit Store(const JobSecret& secret = kSecret, LobbyLimits limits = {})
      : Store(listen_at({"127.0.0.1", 0}), secret, limits) {}
  Store(Socket listener, const JobSecret& secret, LobbyLimits limits)
      : at(listener.local()), server(std::move(listener), secret, limits) {}
  Address at;
  StoreServer server;
};

template <class F>
std::string joining_problem(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

// Hangs up within the time: the end of the stream, or a reset.
bool hangs_up(const Socket& s, double seconds) {
  std::byte byte;
  pollfd entry{s.fd(), POLLIN, 0};
  const Deadline until = after(seconds);
  while (poll(&entry, 1, milliseconds_until(until)) > 0) {
    if (recv(s.fd(), &byte, 1, MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

Hello to_store(int from = 1) {
  Hello hello;
  hello.purpose = Purpose::store;
  hello.from = from;
  return hello;
}

template <class T>
void send_raw(const Socket& s, const T& value) {
  s.send_exact(std::as_bytes(std::span(&value, 1)), after(5));
}

TEST(WhoMayJoin, WhoKnowsTheSecretDoes) {
  const Store store;
  StoreClient a(store.at, kSecret, 0, "a", after(5)), b(store.at, kSecret, 1, "b", after(5));
  EXPECT_TRUE(a.set("key", "value", after(5)));
  EXPECT_EQ(b.get("key", after(5)), "value");
  EXPECT_EQ(store.server.refused_text(), "");
}

TEST(WhoMayJoin, AnotherJobsProcessDoesNot) {
  const Store store;
  for (const JobSecret& secret : {kOther, JobSecret()}) {
    EXPECT_EQ(joining_problem([&] { StoreClient(store.at, secret, 1, "x", after(0.3)); }),
              "who answers at " + to_text(store.at) + " does not know this job's secret");
  }
  StoreClient known(store.at, kSecret, 0, "known", after(5));
  EXPECT_TRUE(known.set("key", "value", after(5)));
}

// A caller that sees no proof of the other side never sends its own.
TEST(WhoMayJoin, AStrangerAtTheAddressIsShownNothing) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  std::atomic<int> called = 0, shown = 0;
  std::jthread stranger([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Socket s = accept_until(listener, after(0.05));
      if (!s.is_open()) continue;
      ++called;
      std::byte more;
      const std::string problem = joining_problem([&] {
        Hello hello;
        s.recv_exact(std::as_writable_bytes(std::span(&hello, 1)), after(5));
        send_raw(s, Challenge{});  // without a proof
        s.recv_exact({&more, 1}, after(5));
      });
      if (problem.empty()) ++shown;
    }
  });
  EXPECT_EQ(joining_problem([&] { StoreClient(at, kSecret, 1, "x", after(1)); }),
            "who answers at " + to_text(at) + " does not know this job's secret");
  EXPECT_GE(called.load(), 1);
  EXPECT_EQ(shown.load(), 0);
}

TEST(WhoMayJoin, StrangersAtEveryStepAreSentAway) {
  const Store store(kSecret, {.callers = 8, .seconds = 2});
  const auto connected = [&] { return connect_until(store.at, after(5)); };
  const auto greeted = [&](const Hello& hello) {
    Socket s = connected();
    send_raw(s, hello);
    return s;
  };
  const Socket silent = connected();
  const Socket half = connected();
  half.send_exact(std::as_bytes(std::span("1ELP then", 9)), after(5));
  const Socket unproved = greeted(to_store());
  const Socket wrong = greeted(to_store());
  Challenge challenge;
  wrong.recv_exact(std::as_writable_bytes(std::span(&challenge, 1)), after(5));
  send_raw(wrong, Proof{});
  EXPECT_TRUE(hangs_up(wrong, 1.5));
  Hello other_purpose = to_store(), other_epoch = to_store(), other_process = to_store(),
        other_magic = to_store(), negative = to_store(-1);
  other_purpose.purpose = Purpose::mesh;
  other_epoch.epoch = 1;
  other_process.to = 1;
  other_magic.magic = 1;
  for (const Hello& h : {other_purpose, other_epoch, other_process, other_magic, negative}) {
    EXPECT_TRUE(hangs_up(greeted(h), 1.5));
  }
  EXPECT_TRUE(hangs_up(silent, 10));
  EXPECT_TRUE(hangs_up(half, 10));
  EXPECT_TRUE(hangs_up(unproved, 10));
  StoreClient known(store.at, kSecret, 0, "known", after(5));
  EXPECT_TRUE(known.set("key", "value", after(5)));
  EXPECT_EQ(store.server.refused_text(),
            "; 9 callers did not show that they know the job's secret, the last from 127.0.0.1");
}

// The called side's own proof is no use as the caller's, nor is a proof of an earlier connection.
TEST(WhoMayJoin, ProofsCannotBeReflectedOrReplayed) {
  const Store store;
  EditedStream between(store.at, unchanged);
  { StoreClient(between.at(), kSecret, 1, "known", after(5)); }
  between.stop();
  ASSERT_GE(between.pieces().size(), 2U);
  ASSERT_EQ(between.pieces()[0].size(), sizeof(Hello));
  ASSERT_EQ(between.pieces()[1].size() >= sizeof(Proof), true);
  const Socket replays = connect_until(store.at, after(5));
  for (const Bytes& piece : between.pieces()) {
    static_cast<void>(joining_problem([&] { replays.send_exact(piece, after(5)); }));
  }
  EXPECT_TRUE(hangs_up(replays, 1));
  const Socket reflects = connect_until(store.at, after(5));
  send_raw(reflects, to_store());
  Challenge challenge;
  reflects.recv_exact(std::as_writable_bytes(std::span(&challenge, 1)), after(5));
  send_raw(reflects, challenge.proof);
  EXPECT_TRUE(hangs_up(reflects, 1));
}

// Every byte of a question, changed on its way, in turn: header, tags, key and value.
TEST(WhoMayJoin, AMessageThatWasChangedEndsItsConnection) {
  const std::size_t first = kHandshake + kQuestion;  // after the question that says the name
  for (std::size_t at = first; at < first + kQuestion + 3 + 5; ++at) {
    const Store store;
    StoreClient watches(store.at, kSecret, 0, "", after(5));
    EditedStream between(store.at, changes(at));
    StoreClient client(between.at(), kSecret, 0, "", after(5));
    EXPECT_NE(joining_problem([&] { static_cast<void>(client.set("key", "value", after(5))); }), "")
        << at;
    EXPECT_THROW(static_cast<void>(watches.get("key", after(0.01))), StoreTimeout) << at;
  }
}

TEST(WhoMayJoin, AMessageThatComesTwiceEndsItsConnection) {
  const Store store;
  EditedStream between(store.at, [&](std::size_t begin, Bytes b) {
    const bool again = begin == kHandshake + kQuestion;
    return again ? std::vector<Bytes>{b, b} : std::vector<Bytes>{b};
  });
  StoreClient client(between.at(), kSecret, 0, "", after(5));
  EXPECT_TRUE(client.set("key", "value", after(5)));  // the first is right
  EXPECT_NE(joining_problem([&] { static_cast<void>(client.set("more", "value", after(5))); }), "");
}

TEST(WhoMayJoin, NobodySpeaksForAnotherProcess) {
  for (const std::string key : {"roster", "process/0", "process/12", "process/1 "}) {
    const Store store;
    StoreClient zero(store.at, kSecret, 0, "", after(5));
    StoreClient one(store.at, kSecret, 1, "", after(5));
    EXPECT_NE(joining_problem([&] { static_cast<void>(one.set(key, "mine", after(5))); }), "")
        << key;
    EXPECT_THROW(static_cast<void>(zero.get(key, after(0.01))), StoreTimeout) << key;
  }
  const Store store;
  StoreClient one(store.at, kSecret, 1, "", after(5));
  EXPECT_NE(joining_problem([&] { one.seal(after(5)); }), "");
}

Meeting meeting(const Address& at, int process, const JobSecret& secret, double timeout_s = 20) {
  Meeting m;
  m.at = {at};
  m.process = process;
  m.processes = m.world = 3;
  m.secret = secret;
  m.timeout_s = timeout_s;
  return m;
}

// Three processes meet and send each other a message while `disturb` goes on.
void expect_job_forms(
    const std::function<void(const Address&, const std::atomic<bool>& over)>& disturb) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  std::atomic<bool> over = false;
  std::jthread stranger([&] { disturb(at, over); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::vector<std::string> problems(3);
  {
    std::vector<std::jthread> processes;
    for (int p = 0; p < 3; ++p) {
      processes.emplace_back(
          [&, p, mine = p == 0 ? std::make_shared<Socket>(std::move(listener)) : nullptr] {
            problems[static_cast<std::size_t>(p)] = joining_problem([&] {
              Meeting m = meeting(at, p, kSecret);
              if (mine) m.listener = std::move(*mine);
              const JobPart part = JobPart::over_tcp(std::move(m));
              const auto& transport = part.ranks().front();
              auto group = transport->group({Rank{0}, Rank{1}, Rank{2}});
              group->barrier();
            });
          });
    }
  }
  over.store(true);
  EXPECT_EQ(problems, std::vector<std::string>(3));
}

TEST(WhoMayJoin, AFloodOfSilentCallersDoesNotStopTheJob) {
  expect_job_forms([](const Address& at, const std::atomic<bool>& over) {
    std::vector<Socket> all;
    while (!over.load()) {
      static_cast<void>(joining_problem([&] { all.push_back(connect_until(at, after(0.2))); }));
      if (all.size() > 600) all.erase(all.begin(), all.begin() + 300);
    }
  });
}

// Whoever is sent away to make room, at whatever step, hears of it and calls again.
TEST(WhoMayJoin, ACallerThatWasSentAwayCallsAgain) {
  const Store store(kSecret, {.callers = 2});
  std::jthread strangers([&](const std::stop_token& stop) {
    std::vector<Socket> all;
    while (!stop.stop_requested()) {
      static_cast<void>(
          joining_problem([&] { all.push_back(connect_until(store.at, after(0.2))); }));
      if (all.size() > 8) all.erase(all.begin());
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(joining_problem([&] { StoreClient client(store.at, kSecret, 0, "", after(20)); }),
              "");
  }
}

// A machine so busy that a whole flood has come before the lobby looks: the greeting in it counts.
TEST(WhoMayJoin, AGreetingThatHasComeKeepsItsPlaceInAFlood) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  Lobby lobby(std::move(listener), kSecret, Purpose::store, 0, 0, {.callers = 2});
  std::vector<Socket> strangers;
  const Socket caller = connect_until(at, after(5));
  const Hello hello = to_store();
  caller.send_exact(std::as_bytes(std::span(&hello, 1)), after(5));
  for (int i = 0; i < 20; ++i) strangers.push_back(connect_until(at, after(5)));
  EXPECT_TRUE(lobby.admit().empty());
  Challenge challenge;
  EXPECT_EQ(joining_problem([&] {
              caller.recv_exact(std::as_writable_bytes(std::span(&challenge, 1)), after(5));
            }),
            "");
}

TEST(WhoMayJoin, SlowSendersDoNotStopTheJob) {
  expect_job_forms([](const Address& at, const std::atomic<bool>& over) {
    std::vector<Socket> all;
    for (int i = 0; i < 40; ++i) all.push_back(connect_until(at, after(5)));
    const Hello hello = to_store();
    for (std::size_t byte = 0; byte < sizeof hello && !over.load(); ++byte) {
      for (const Socket& s : all) {
        static_cast<void>(joining_problem(
            [&] { s.send_exact(std::as_bytes(std::span(&hello, 1)).subspan(byte, 1), after(1)); }));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

// The attack that was found: a stranger that is there first and says that it is process 0.
TEST(WhoMayJoin, AStrangerCannotBecomeProcessZero) {
  expect_job_forms([](const Address& at, const std::atomic<bool>& over) {
    while (!over.load()) {
      static_cast<void>(joining_problem([&] {
        StoreClient stranger(at, kOther, 0, "process 0", after(0.1));
        static_cast<void>(stranger.set("roster", "1 0 1 127.0.0.1 1", after(1)));
      }));
    }
  });
}

TEST(WhoMayJoin, AProcessWithAnotherSecretIsMissedAndTheReasonSaid) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  std::string zero, one;
  const auto begin = std::chrono::steady_clock::now();
  {
    Meeting m = meeting(at, 0, kSecret, 1);
    m.processes = m.world = 2;
    m.listener = std::move(listener);
    std::jthread a([&, p = std::make_shared<Meeting>(std::move(m))] {
      zero = joining_problem([&] { static_cast<void>(meet(std::move(*p))); });
    });
    std::jthread b([&] {
      Meeting other = meeting(at, 1, kOther, 1);
      other.processes = other.world = 2;
      one = joining_problem([&] { static_cast<void>(meet(std::move(other))); });
    });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(zero.starts_with("process 1 of 2 did not come to " + to_text(at) + " within 1 s; "))
      << zero;
  EXPECT_NE(zero.find("did not show that"), std::string::npos) << zero;
  EXPECT_EQ(one, "who answers at " + to_text(at) + " does not know this job's secret");
}

TEST(WhoMayJoin, WithoutASecretOnlyLoopbackIsServed) {
  try {
    const StoreServer server(listen_at({"0.0.0.0", 0}), JobSecret());
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    EXPECT_NE(std::string(e.what()).find("PLEAT_JOB_SECRET"), std::string::npos) << e.what();
  }
  const StoreServer with(listen_at({"0.0.0.0", 0}), kSecret);
  EXPECT_THROW(check_reach({"10.1.2.3", 29500}, JobSecret()), ConfigError);
  EXPECT_NO_THROW(check_reach({"10.1.2.3", 29500}, kSecret));
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_NO_THROW(check_reach({host, 29500}, JobSecret())) << host;
  }
}

struct TwoMeshes {
  std::vector<std::string> problems{2};
  std::string lost;  // what the first one's ranks are told
};

// Two processes; what the second sends goes through `edit`.
TwoMeshes two_meshes(EditedStream::Edit edit, const JobSecret& second_secret, double meet_s) {
  TwoMeshes said;
  Socket first = listen_at({"127.0.0.1", 0}), second = listen_at({"127.0.0.1", 0});
  const Address second_at = second.local();
  const Roster roster{42, {{0, 1, first.local()}, {1, 1, second_at}}};
  const EditedStream between(first.local(), std::move(edit));
  const Roster by_way{42, {{0, 1, between.at()}, {1, 1, second_at}}};
  MessageHub hub0(Rank{0}, 1), hub1(Rank{1}, 1);
  std::jthread other([&] {
    said.problems[1] = joining_problem([&] {
      TcpMesh mesh(by_way, 1, std::move(second), second_secret, hub1,
                   {.beat_s = 60, .meet_s = meet_s});
      mesh.send({Rank{1}, Rank{0}, {7, 0, 1}}, std::as_bytes(std::span("hello", 5)));
      static_cast<void>(hub1.take({Rank{0}, Rank{1}, {8, 0, 1}}));
    });
  });
  said.problems[0] = joining_problem([&] {
    TcpMesh mesh(roster, 0, std::move(first), kSecret, hub0, {.beat_s = 60, .meet_s = meet_s});
    const std::string taken = joining_problem([&] {
      const Message m = hub0.take({Rank{1}, Rank{0}, {7, 0, 1}});
      EXPECT_EQ(m.size, 5U);
      mesh.send({Rank{0}, Rank{1}, {8, 0, 1}}, std::as_bytes(std::span("!", 1)));
    });
    said.lost = taken;
  });
  other.join();
  return said;
}

TEST(WhoMayJoin, AMeshOfTheSameSecretWorks) {
  const TwoMeshes said = two_meshes(unchanged, kSecret, 10);
  EXPECT_EQ(said.problems, std::vector<std::string>(2));
  EXPECT_EQ(said.lost, "");
}

TEST(WhoMayJoin, AMeshOfAnotherSecretDoesNotForm) {
  const TwoMeshes said = two_meshes(unchanged, kOther, 0.5);
  EXPECT_TRUE(said.problems[0].starts_with("rank 1 did not connect within 0.5 s; "))
      << said.problems[0];
  EXPECT_TRUE(said.problems[1].starts_with("rank 0: who answers at ")) << said.problems[1];
}

TEST(WhoMayJoin, AMeshMessageThatWasChangedIsNeverDelivered) {
  const std::size_t header = 40, opening = header + sizeof(Tags);
  for (std::size_t at = 0; at < opening + 5; at += at < header ? 4 : 7) {
    const TwoMeshes said = two_meshes(changes(kHandshake + at), kSecret, 10);
    EXPECT_EQ(said.lost, "rank 1 is lost: what it sends is broken") << at;
  }
}

TEST(WhoMayJoin, TagsAreForOnePlaceOfOneDirection) {
  const Hello hello = to_store();
  const Nonce nonce{};
  Session called = called_session(kSecret, hello, nonce);
  MessageTags same_keys = called.sends, again = called.sends;
  const Bytes header(40, std::byte{1}), payload(100, std::byte{2}), longer(101, std::byte{2});
  const Tags first = called.sends.make(header, payload),
             second = called.sends.make(header, payload);
  EXPECT_NE(first.header, second.header);
  EXPECT_NE(first.payload, second.payload);
  EXPECT_TRUE(same_keys.fits_header(header, first));
  EXPECT_TRUE(same_keys.fits_payload(payload, first));
  EXPECT_FALSE(same_keys.fits_header(header, first));  // the second's place
  EXPECT_TRUE(same_keys.fits_header(header, second));
  EXPECT_FALSE(same_keys.fits_payload(longer, second));
  EXPECT_FALSE(called.receives.fits_header(header, first));  // the other direction
  Hello later = hello;
  later.epoch = 1;
  EXPECT_FALSE(called_session(kSecret, later, nonce).sends.fits_header(header, first));
  EXPECT_FALSE(called_session(kOther, hello, nonce).sends.fits_header(header, first));
  Nonce another{};
  another[0] = std::byte{1};
  EXPECT_FALSE(called_session(kSecret, hello, another).sends.fits_header(header, first));
  EXPECT_TRUE(again.fits_header(header, first));
}

TEST(WhoMayJoin, ANewSecretIsNew) {
  const std::string a = new_secret_text(), b = new_secret_text();
  EXPECT_EQ(a.size(), 64U);
  EXPECT_NE(a, b);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace pleat
