// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/message_hub.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Ranks may outnumber the cores, so waiting gives way at once and soon sleeps.
class Backoff {
 public:
  void wait() {
    if (++turns_ < 50) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(200, 10 * (turns_ - 49))));
  }
  void reset() { turns_ = 0; }

 private:
  int turns_ = 0;
};

}  // namespace

Message make_message(std::size_t bytes) {
  return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
}

Message make_message(std::span<const std::byte> copied) {
  Message m = make_message(copied.size());
  std::copy(copied.begin(), copied.end(), m.data.get());
  return m;
}

MessageHub::MessageHub(Rank first, int count)
    : first_(first), inboxes_(static_cast<std::size_t>(count)) {}

bool MessageHub::is_here(Rank r) const {
  return r.value >= first_.value && r.value < first_.value + count();
}

MessageHub::Inbox& MessageHub::inbox(Rank r) {
  PLEAT_ASSERT(is_here(r));
  return inboxes_[static_cast<std::size_t>(r.value - first_.value)];
}

void MessageHub::send(const Envelope& e, std::span<const std::byte> data) {
  throw_if_aborted();
  if (is_here(e.to)) {
    deliver(e, make_message(data));
  } else {
    Wire* wire = wire_.load();
    PLEAT_ASSERT(wire != nullptr);
    wire->send(e, data);
  }
}

void MessageHub::deliver(const Envelope& e, Message message) {
  Inbox& box = inbox(e.to);
  const std::lock_guard lock(box.mutex);
  box.messages[{e.from, e.label}].push_back(std::move(message));
  box.changed.notify_all();
}

Message MessageHub::take(const Envelope& e) {
  Inbox& box = inbox(e.to);
  Wire* wire = wire_.load();
  if (wire != nullptr && wire->needs_polling()) return take_polling(box, e, *wire);
  std::unique_lock lock(box.mutex);
  auto& queue = box.messages[{e.from, e.label}];
  box.changed.wait(lock, [&] { return !queue.empty() || aborted(); });
  throw_if_aborted();
  Message message = std::move(queue.front());
  queue.pop_front();
  return message;
}

Message MessageHub::take_polling(Inbox& box, const Envelope& e, Wire& wire) {
  for (Backoff backoff;;) {
    throw_if_aborted();
    {
      const std::lock_guard lock(box.mutex);
      auto& queue = box.messages[{e.from, e.label}];
      if (!queue.empty()) {
        Message message = std::move(queue.front());
        queue.pop_front();
        return message;
      }
    }
    if (wire.poll()) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
}

bool MessageHub::abort(const std::string& message, bool tell) {
  {
    const std::lock_guard lock(abort_mutex_);
    if (aborted()) return false;
    message_ = message;
    aborted_.store(true);
  }
  Wire* wire = wire_.load();
  if (tell && wire != nullptr) wire->send_abort(message);
  for (Inbox& box : inboxes_) {
    // Locking between a waiter's check and its sleep is what makes sure that no wake-up is lost.
    const std::lock_guard lock(box.mutex);
    box.changed.notify_all();
  }
  return true;
}

void MessageHub::throw_if_aborted() const {
  if (aborted()) throw std::runtime_error(message_);
}

}  // namespace pleat
