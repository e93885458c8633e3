#include "lockstep/import/scan/event_file.h"

#include <cmath>
#include <cstring>
#include <string>

#include "lockstep/import/scan/crc32c.h"

namespace lockstep::import {
namespace {

void varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void bytes_field(std::string& out, unsigned number, std::string_view bytes) {
  varint(out, number << 3 | 2);
  varint(out, bytes.size());
  out += bytes;
}

template <class T>
void fixed(std::string& out, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

/// An Event up to its content: wall_time is field 1, step field 2.
std::string event_head(std::int64_t step, std::int64_t wall_ns) {
  std::string event;
  varint(event, 1 << 3 | 1);
  fixed(event, static_cast<double>(wall_ns) * 1e-9);
  if (step != 0) {
    varint(event, 2 << 3 | 0);
    varint(event, static_cast<std::uint64_t>(step));
  }
  return event;
}

}  // namespace

EventFileWriter::EventFileWriter(std::ostream& out, std::int64_t wall_ns) : out_(out) {
  std::string event = event_head(0, wall_ns);
  bytes_field(event, 3, "brain.Event:2");
  record(event);
}

void EventFileWriter::scalar(std::string_view tag, std::int64_t step, double value,
                             std::int64_t wall_ns) {
  if (!std::isfinite(value)) return;
  std::string entry;
  bytes_field(entry, 1, tag);
  varint(entry, 2 << 3 | 5);
  fixed(entry, static_cast<float>(value));
  std::string summary;
  bytes_field(summary, 1, entry);
  std::string event = event_head(step, wall_ns);
  bytes_field(event, 5, summary);
  record(event);
}

void EventFileWriter::record(std::string_view bytes) {
  std::string head;
  fixed(head, static_cast<std::uint64_t>(bytes.size()));
  fixed(head, masked_crc32c(head.data(), 8));
  out_ << head << bytes;
  std::string tail;
  fixed(tail, masked_crc32c(bytes.data(), bytes.size()));
  out_ << tail;
}

}  // namespace lockstep::import
