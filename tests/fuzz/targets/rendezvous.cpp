// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The store at which a job's processes meet, on bytes. The first byte says who calls: a stranger
// who sends anything, one who begins with a whole greeting, or processes that know the secret and
// ask anything. Inputs are those of rendezvous_tcp, which sends them through sockets to a whole
// server.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "backend/comm/called_handshake.hpp"
#include "backend/comm/message_reader.hpp"
#include "backend/comm/store_table.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

namespace {

using Step = CalledHandshake::Step;

const JobSecret& secret() {
  static const JobSecret known("the secret of the job that is tried");
  return known;
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// As the lobby takes them: no more than is its own.
Step send(CalledHandshake& called, std::span<const std::byte> data) {
  Step step = Step::waits;
  while (!data.empty() && step != Step::refused && step != Step::shown) {
    const std::span<std::byte> room = called.room();
    const std::size_t n = std::min(room.size(), data.size());
    std::copy_n(data.begin(), n, room.begin());
    data = data.subspan(n);
    step = called.took(n, Wanted{}, secret());
  }
  return step;
}

void come_as_stranger(std::string_view input, bool greets, int from) {
  CalledHandshake called;
  Hello hello;
  hello.from = from;
  if (greets) {
    const Step step = send(called, std::as_bytes(std::span(&hello, 1)));
    require(step == Step::says, "a greeting without an answer");
  }
  require(send(called, bytes(input)) != Step::shown, "a stranger who is let in");
}

// The handshake of a process of the job, from both sides.
struct Connection {
  explicit Connection(int process) {
    Hello hello;
    hello.from = process;
    hello.nonce = new_nonce();
    CalledHandshake called;
    require(send(called, std::as_bytes(std::span(&hello, 1))) == Step::says, "no answer");
    Challenge challenge;
    std::memcpy(&challenge, called.reply().data(), sizeof challenge);
    const Proof proof = callers_proof(secret(), hello, challenge.nonce);
    require(send(called, std::as_bytes(std::span(&proof, 1))) == Step::shown, "not let in");
    require(called.from() == process && called.room().empty(), "somebody else");
    const Session there = called.session(secret());
    const Session here = callers_session(secret(), hello, challenge.nonce);
    asks = here.sends;
    reads = MessageReader<AnswerHeader>(here.receives);
    answers = there.sends;
    questions = MessageReader<QuestionHeader>(there.receives);
  }
  MessageTags asks, answers;
  MessageReader<QuestionHeader> questions;
  MessageReader<AnswerHeader> reads;
  int client = 0;
  bool open = true;
};

class Store {
 public:
  explicit Store(int process) : connections_{Connection(process), Connection(1 - process)} {
    for (Connection& c : connections_) {
      c.client = table_.join(process);
      process = 1 - process;
    }
  }

  // Op (its high bits: which process asks, and whether its last byte is missing), lengths of key
  // and value, both.
  void ask(std::string_view& input) {
    const auto first = static_cast<unsigned char>(input[0]);
    Connection& c = connections_[first >> 7];
    const std::size_t key =
        std::min<std::size_t>(static_cast<unsigned char>(input[1]), input.size() - 3);
    const std::size_t value =
        std::min<std::size_t>(static_cast<unsigned char>(input[2]) * 16U, input.size() - 3 - key);
    const QuestionHeader header{static_cast<StoreOp>(first & 0x7F), static_cast<std::uint32_t>(key),
                                static_cast<std::uint32_t>(value)};
    const std::string_view payload = input.substr(3, key + value);
    input.remove_prefix(3 + key + value);
    if (!c.open) return;
    const Tags tags = c.asks.make(std::as_bytes(std::span(&header, 1)), bytes(payload));
    take(c, std::as_bytes(std::span(&header, 1)));
    take(c, std::as_bytes(std::span(&tags, 1)));
    take(c, bytes(payload));
    now_ += std::chrono::milliseconds(100);
    StoreTable::Replies replies;
    table_.give_up(now_, replies);
    deliver(replies);
    if (const auto next = table_.next_deadline()) require(*next > now_, "one that waits too long");
  }

  // What is left comes without tags.
  void end(std::string_view rest) {
    for (Connection& c : connections_) {
      take(c, bytes(rest));
      leave(c);
    }
  }

 private:
  void take(Connection& c, std::span<const std::byte> data) {
    while (!data.empty() && c.open) {
      const std::span<std::byte> room = c.questions.room();
      const std::size_t n = std::min(room.size(), data.size());
      std::copy_n(data.begin(), n, room.begin());
      data = data.subspan(n);
      const Arrived arrived = c.questions.took(n);
      if (arrived == Arrived::broken || (arrived == Arrived::message && !answer(c))) leave(c);
    }
  }

  bool answer(Connection& c) {
    StoreTable::Replies replies;
    const StoreQuestion q = read_question(c.questions.header(), c.questions.payload());
    const bool may_ask = table_.ask(c.client, q, now_, replies);
    deliver(replies);
    return may_ask;
  }

  void leave(Connection& c) {
    if (!c.open) return;
    c.open = false;
    StoreTable::Replies replies;
    table_.leave(c.client, replies);
    deliver(replies);
  }

  // Every reply is read as it was written.
  void deliver(const StoreTable::Replies& replies) {
    for (const StoreReply& r : replies) {
      const auto c = std::ranges::find(connections_, r.client, &Connection::client);
      require(c != connections_.end() && c->open, "a reply to one that has left");
      const std::string all = to_wire(r.answer, c->answers);
      Arrived arrived = Arrived::part;
      for (auto data = bytes(all); !data.empty();) {
        require(arrived == Arrived::part, "a reply that ends early");
        const std::span<std::byte> room = c->reads.room();
        const std::size_t n = std::min(room.size(), data.size());
        std::copy_n(data.begin(), n, room.begin());
        data = data.subspan(n);
        arrived = c->reads.took(n);
      }
      require(arrived == Arrived::message, "a broken reply");
      const StoreAnswer read = read_answer(c->reads.header(), c->reads.payload());
      require(read.status == r.answer.status && read.value == r.answer.value, "another reply");
    }
  }

  StoreTable table_;
  std::array<Connection, 2> connections_;
  Deadline now_;
};

}  // namespace

void run(std::string_view input) {
  if (input.empty()) return;
  const int who = input.front() & 3, from = input.front() >> 2 & 1;
  input.remove_prefix(1);
  if (who < 2) return come_as_stranger(input, who == 1, from);
  Store store(from);
  while (input.size() >= 3) store.ask(input);
  store.end(input);
}

}  // namespace pleat::fuzz
