// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The messages of one process's ranks: an inbox for each of them, a wire to the ranks of other
// processes, and whether the job has failed.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace pleat {

// What a message belongs to. Messages with equal labels arrive in the order they were sent.
struct Label {
  std::uint64_t group = 0;
  std::int32_t channel = 0;  // a collective's or a person's
  std::int32_t tag = 0;
  auto operator<=>(const Label&) const = default;
};
struct Envelope {
  Rank from, to;
  Label label;
};

// Bytes that are written once; not cleared before.
struct Message {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;
  [[nodiscard]] std::span<std::byte> bytes() const { return {data.get(), size}; }
};
[[nodiscard]] Message make_message(std::size_t bytes);
[[nodiscard]] Message make_message(std::span<const std::byte> copied);

// Carries messages to other processes; what arrives there is given to their hub's deliver().
class Wire {
 public:
  virtual ~Wire() = default;
  // Buffered: returns when `data` may be reused, whether it has left or not.
  virtual void send(const Envelope&, std::span<const std::byte> data) = 0;
  // Tells the other processes, as far as they can be reached.
  virtual void send_abort(const std::string& message) = 0;
  // Wires without a thread of their own: those that wait call poll(), which delivers what has come
  // and says whether anything moved.
  [[nodiscard]] virtual bool needs_polling() const { return false; }
  virtual bool poll() { return false; }
};

class MessageHub {
 public:
  // The ranks [first, first + count) live here.
  MessageHub(Rank first, int count);

  // The wire must stay for as long as ranks send, and as anyone may abort.
  void attach(Wire* wire) { wire_.store(wire); }
  [[nodiscard]] Rank first() const { return first_; }
  [[nodiscard]] int count() const { return static_cast<int>(inboxes_.size()); }

  // Both throw std::runtime_error once the job is aborted; take() waits.
  void send(const Envelope&, std::span<const std::byte> data);
  [[nodiscard]] Message take(const Envelope&);

  void deliver(const Envelope&, Message);  // to a rank that lives here
  // The first message counts; says whether it was this one. `tell`: the other processes too.
  bool abort(const std::string& message, bool tell);
  [[nodiscard]] bool aborted() const { return aborted_.load(); }
  void throw_if_aborted() const;

 private:
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<Rank, Label>, std::deque<Message>> messages;
  };
  [[nodiscard]] bool is_here(Rank) const;
  [[nodiscard]] Inbox& inbox(Rank);
  [[nodiscard]] Message take_polling(Inbox&, const Envelope&, Wire&);

  Rank first_;
  std::vector<Inbox> inboxes_;
  std::atomic<Wire*> wire_ = nullptr;
  std::mutex abort_mutex_;
  std::atomic<bool> aborted_ = false;
  std::string message_;  // written once, before aborted_
};

}  // namespace pleat
