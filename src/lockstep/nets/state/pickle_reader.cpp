#include "lockstep/nets/state/pickle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "lockstep/base/error.h"

namespace lockstep::nets {
namespace {

using Storage = std::function<at::DataPtr(const std::string&, std::size_t&)>;
using ListPtr = std::shared_ptr<PickledList>;
using DictPtr = std::shared_ptr<PickledDict>;

torch::Dtype type_of_storage(const std::string& name) {
  static const std::map<std::string, torch::Dtype> kTypes{
      {"torch.FloatStorage", torch::kFloat}, {"torch.DoubleStorage", torch::kDouble},
      {"torch.HalfStorage", torch::kHalf},   {"torch.BFloat16Storage", torch::kBFloat16},
      {"torch.LongStorage", torch::kLong},   {"torch.IntStorage", torch::kInt},
      {"torch.ShortStorage", torch::kShort}, {"torch.CharStorage", torch::kChar},
      {"torch.ByteStorage", torch::kByte},   {"torch.BoolStorage", torch::kBool}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) {
    throw Error(ErrorKind::kData,
                fmt::format("it contains a tensor of the unsupported type {}", name));
  }
  return found->second;
}

/// The stack machine of the pickle format, protocols 2 to 4; see Python's pickletools for the
/// meaning of each code.
class Machine {
 public:
  Machine(std::span<const std::uint8_t> bytes, const Storage& storage)
      : bytes_(bytes), storage_(storage) {}

  PickledValue run() {
    for (;;) {
      const std::uint8_t code = byte();
      if (code == '.') return pop();
      execute(code);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kData, fmt::format("{} at byte {} of its pickle", what, at_));
  }

  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > bytes_.size() - at_) fail("it ends prematurely");
    const auto part = bytes_.subspan(at_, count);
    at_ += count;
    return part;
  }
  std::uint8_t byte() { return take(1)[0]; }
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const auto part = take(width);
    for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{part[i]} << (8 * i);
    return value;
  }
  std::string text(std::size_t count) {
    const auto part = take(count);
    return {part.begin(), part.end()};
  }
  std::string line() {
    std::string result;
    for (char c; (c = static_cast<char>(byte())) != '\n';) result += c;
    return result;
  }

  void push(PickledValue value) { stack_.push_back(std::move(value)); }
  PickledValue pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      fail("a value is missing");
    }
    PickledValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  /// Everything since the last mark.
  std::vector<PickledValue> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickledValue> values(std::make_move_iterator(first),
                                     std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }
  PickledValue& top() {
    if (stack_.empty()) fail("a value is missing");
    return stack_.back();
  }

  void push_list(std::vector<PickledValue> items) {
    push(std::make_shared<PickledList>(PickledList{std::move(items)}));
  }
  void push_tuple(std::size_t count) {
    std::vector<PickledValue> items(count);
    for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
    push_list(std::move(items));
  }
  /// Whole numbers of any length, of which eight bytes must be enough.
  void push_long(std::size_t width) {
    if (width > 8) fail("a number is too large");
    std::uint64_t value = number(width);
    if (width > 0 && width < 8 && (value >> (8 * width - 1)) != 0)
      value |= ~std::uint64_t{0} << (8 * width);
    push(static_cast<std::int64_t>(value));
  }
  void push_double() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    push(value);
  }

  void set_items(std::vector<PickledValue> values) {
    auto* dict = std::get_if<DictPtr>(&top());
    if (!dict && std::holds_alternative<PickledObject>(top())) return;
    if (!dict || values.size() % 2 != 0) fail("a dictionary is damaged");
    for (std::size_t i = 0; i < values.size(); i += 2) {
      (*dict)->items.emplace_back(std::move(values[i]), std::move(values[i + 1]));
    }
  }
  void append(std::vector<PickledValue> values) {
    auto* list = std::get_if<ListPtr>(&top());
    if (!list && std::holds_alternative<PickledObject>(top())) return;
    if (!list) fail("a list is damaged");
    for (auto& value : values) (*list)->items.push_back(std::move(value));
  }

  void remember(std::uint64_t index) { memo_[index] = top(); }
  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("a back reference is invalid");
    push(found->second);
  }

  const std::vector<PickledValue>& items_of(const PickledValue& value, std::size_t least) const {
    const auto* list = std::get_if<ListPtr>(&value);
    if (!list || (*list)->items.size() < least) fail("a tuple is damaged");
    return (*list)->items;
  }
  template <class T>
  const T& as(const PickledValue& value) const {
    const auto* wanted = std::get_if<T>(&value);
    if (!wanted) fail("a value has the wrong type");
    return *wanted;
  }

  void call() {
    const PickledValue arguments = pop();
    const PickledValue function = pop();
    const auto* object = std::get_if<PickledObject>(&function);
    const std::string name = object ? object->name : "";
    if (name == "collections.OrderedDict") {
      push(std::make_shared<PickledDict>());
    } else if (name == "torch._utils._rebuild_tensor_v2") {
      push(tensor(items_of(arguments, 4)));
    } else if (name == "torch._utils._rebuild_parameter" ||
               name.starts_with("torch.jit._pickle.")) {
      push(items_of(arguments, 1)[0]);
    } else {
      push(PickledObject{name});
    }
  }

  std::vector<std::int64_t> sizes(const PickledValue& value) const {
    std::vector<std::int64_t> result;
    for (const auto& item : items_of(value, 0)) {
      result.push_back(as<std::int64_t>(item));
      if (result.back() < 0) fail("a size is negative");
    }
    return result;
  }

  torch::Tensor tensor(const std::vector<PickledValue>& arguments) const {
    const auto& [type, key] = as<PickledStorage>(arguments[0]);
    const auto offset = as<std::int64_t>(arguments[1]);
    const auto shape = sizes(arguments[2]), strides = sizes(arguments[3]);
    std::size_t size = 0;
    at::DataPtr data = storage_(key, size);
    if (shape.size() != strides.size() || offset < 0) fail("a tensor is damaged");
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return torch::empty(shape, type);
    const auto elements = static_cast<std::int64_t>(size / torch::elementSize(type));
    std::int64_t last = offset;
    for (std::size_t i = 0; i < shape.size() && last < elements; ++i) {
      // Either factor beyond the memory is enough, and the product could overflow.
      const bool far = shape[i] > 1 && (strides[i] > elements || shape[i] > elements);
      last = far ? elements : last + (shape[i] - 1) * strides[i];
    }
    if (last >= elements) fail("a tensor is larger than its storage");
    auto* memory = static_cast<char*>(data.get()) +
                   static_cast<std::size_t>(offset) * torch::elementSize(type);
    return torch::from_blob(memory, shape, strides, type).clone();
  }

  void load_persistent() {
    const PickledValue id = pop();
    const auto& parts = items_of(id, 3);
    push(PickledStorage{type_of_storage(as<PickledObject>(parts[1]).name),
                        as<std::string>(parts[2])});
  }

  void execute(std::uint8_t code) {
    switch (code) {
      case 0x80:
        byte();
        return;  // protocol
      case 0x95:
        take(8);
        return;  // frame
      case '(':
        marks_.push_back(stack_.size());
        return;  // mark
      case '0':
        pop();
        return;  // pop
      case '}':
        push(std::make_shared<PickledDict>());
        return;  // empty dictionary
      case ']':
      case ')':
        push_list({});
        return;  // empty list, empty tuple
      case 't':
      case 'l':
        push_list(pop_to_mark());
        return;  // tuple, list
      case 0x85:
        push_tuple(1);
        return;
      case 0x86:
        push_tuple(2);
        return;
      case 0x87:
        push_tuple(3);
        return;
      case 'N':
        push(PickledValue{});
        return;
      case 0x88:
        push(true);
        return;
      case 0x89:
        push(false);
        return;
      case 'J':
        push(static_cast<std::int64_t>(static_cast<std::int32_t>(number(4))));
        return;
      case 'K':
        push(static_cast<std::int64_t>(number(1)));
        return;
      case 'M':
        push(static_cast<std::int64_t>(number(2)));
        return;
      case 0x8a:
        push_long(number(1));
        return;
      case 'G':
        push_double();
        return;
      case 'X':
        push(text(number(4)));
        return;  // text
      case 0x8c:
        push(text(number(1)));
        return;  // short text
      case 'c': {
        auto module = line();
        push(PickledObject{module + "." + line()});
        return;
      }
      case 0x93: {  // name from the stack
        const auto name = as<std::string>(pop());
        push(PickledObject{as<std::string>(pop()) + "." + name});
        return;
      }
      case 'R':
        call();
        return;  // call
      case 0x81:
        call();
        return;  // new object
      case 'b':
        pop();
        return;  // state of an object
      case 'Q':
        load_persistent();
        return;
      case 's': {
        auto value = pop();
        auto key = pop();
        set_items({std::move(key), std::move(value)});
        return;
      }
      case 'u':
        set_items(pop_to_mark());
        return;
      case 'a':
        append({pop()});
        return;
      case 'e':
        append(pop_to_mark());
        return;
      case 'q':
        remember(number(1));
        return;
      case 'r':
        remember(number(4));
        return;
      case 0x94:
        remember(memo_.size());
        return;
      case 'h':
        recall(number(1));
        return;
      case 'j':
        recall(number(4));
        return;
      default:
        fail(fmt::format("unknown opcode 0x{:02x}", code));
    }
  }

  std::span<const std::uint8_t> bytes_;
  const Storage& storage_;
  std::size_t at_ = 0;
  std::vector<PickledValue> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, PickledValue> memo_;
};

}  // namespace

PickledValue read_pickle(std::span<const std::uint8_t> bytes, const Storage& storage) {
  return Machine(bytes, storage).run();
}

}  // namespace lockstep::nets
