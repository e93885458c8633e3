// CPU time of 3x3 convolutions: Lockstep's against ATen's (oneDNN's) in its faster memory format,
// layer by layer of ResNet-18 for CIFAR and for some narrow layers, in alternation on one thread.
//
//   bench_convolution [batch] [repeats]
#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "lockstep/nets/layers/winograd_conv.h"

namespace {

using torch::Tensor;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double timed(const std::function<void()>& work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Layer {
  int count;  ///< Of this shape in ResNet-18; 0: not part of it.
  int in, out, size, stride;
};

/// Forward and backward of one layer.
struct Case {
  Tensor input, weight, grad;

  Case(const Layer& layer, int batch, torch::MemoryFormat format) {
    input = torch::randn({batch, layer.in, layer.size, layer.size}).contiguous(format);
    weight = torch::randn({layer.out, layer.in, 3, 3});
    const int out_size = (layer.size + layer.stride - 1) / layer.stride;
    grad = torch::randn({batch, layer.out, out_size, out_size}).contiguous(format);
    input.requires_grad_();
    weight.requires_grad_();
  }

  template <class Convolve>
  double seconds(Convolve convolve) {
    return timed([&] {
      auto output = convolve(input, weight);
      output.backward(grad);
      input.mutable_grad() = Tensor();
      weight.mutable_grad() = Tensor();
    });
  }
};

void compare(const Layer& layer, int batch, int repeats, double* ours_total, double* aten_total) {
  Case last(layer, batch, torch::MemoryFormat::ChannelsLast);
  Case plain(layer, batch, torch::MemoryFormat::Contiguous);
  const auto aten = [&](const Tensor& x, const Tensor& w) {
    return torch::conv2d(x, w, {}, layer.stride, 1);
  };
  const auto ours = [&](const Tensor& x, const Tensor& w) {
    return lockstep::nets::winograd_conv3x3(x, w, layer.stride);
  };
  std::vector<double> a, b, c, ratios;
  for (int i = -1; i < repeats; ++i) {
    const double mine = last.seconds(ours);
    const double aten_last = last.seconds(aten), aten_plain = plain.seconds(aten);
    if (i < 0) continue;
    a.push_back(mine);
    b.push_back(aten_last);
    c.push_back(aten_plain);
    ratios.push_back(std::min(aten_last, aten_plain) / mine);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%4d %4d %4dx%-4d %6d %9.2f %12.2f %14.2f   %5.2f (%.2f-%.2f)%s\n", layer.in,
              layer.out, layer.size, layer.size, layer.stride, median(a) * 1e3, median(b) * 1e3,
              median(c) * 1e3, median(ratios), ratios.front(), ratios.back(),
              lockstep::nets::winograd_pays(last.input, last.weight, layer.stride) ? "" : " ATen");
  *ours_total += layer.count * median(a);
  *aten_total += layer.count * std::min(median(b), median(c));
}

}  // namespace

int main(int argc, char** argv) {
  // Without this every tensor of a megabyte is fresh memory, and faulting it in is what is timed.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2147483647);
  torch::set_num_threads(1);
  const int batch = argc > 1 ? std::atoi(argv[1]) : 32;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  std::printf("3x3 convolution, forward + backward, batch %d, 1 thread, ms of CPU time\n", batch);
  std::printf("  in  out      size stride  lockstep   ATen NHWC      ATen NCHW   ratio (n = %d)\n",
              repeats);
  double ours = 0, aten = 0;
  for (const Layer& layer :
       {Layer{4, 64, 64, 32, 1}, Layer{1, 64, 128, 32, 2}, Layer{3, 128, 128, 16, 1},
        Layer{1, 128, 256, 16, 2}, Layer{3, 256, 256, 8, 1}, Layer{1, 256, 512, 8, 2},
        Layer{3, 512, 512, 4, 1}, Layer{0, 16, 16, 32, 1}, Layer{0, 16, 32, 32, 2},
        Layer{0, 32, 32, 16, 1}, Layer{0, 32, 32, 7, 1}, Layer{0, 64, 64, 5, 1},
        Layer{0, 128, 128, 2, 1}, Layer{0, 256, 256, 1, 1}}) {
    compare(layer, batch, repeats, &ours, &aten);
  }
  std::printf("the 16 layers of ResNet-18: %.0f ms against %.0f ms, %.2f times as fast\n",
              ours * 1e3, aten * 1e3, aten / ours);
}
