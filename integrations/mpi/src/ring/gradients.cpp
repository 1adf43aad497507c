// SPDX-License-Identifier: MIT
#include "ring/gradients.hpp"

#include <algorithm>

namespace vkf::mpi {

RingGradients::RingGradients(State& state, const VkfProblem& whole, const RingBlocks& blocks)
    : gpu_(*state.gpu), blocks_(blocks), add_(*state.gpu) {
    uint64_t most = 0;
    for (const Part& part : blocks_.schedule().parts) {
        layouts_.emplace_back(whole, part, VKF_TYPE_F32, VKF_TYPE_F32);
        most = std::max(most, layouts_.back().bytes);
    }
    const bool travels = blocks_.schedule().ranks > 1;
    for (Slot& slot : slots_) {
        slot.sum = Memory(gpu_, most, Place::device);
        if (travels) {
            slot.out = Memory(gpu_, most, Place::host);
            slot.in = Memory(gpu_, most, Place::host);
            slot.addend = Memory(gpu_, most, Place::device);
        }
    }
    const uint64_t bytes = layouts_[blocks_.schedule().rank].bytes;
    own_ = Memory(gpu_, bytes, Place::device);
    if (travels) {
        ownOnHost_ = Memory(gpu_, bytes, Place::host);
    }
}

void RingGradients::begin(Traffic& traffic) {
    const Schedule& schedule = blocks_.schedule();
    for (Slot& slot : slots_) {
        slot.sent = 0;
    }
    home_ = 0;
    if (const uint32_t reach = schedule.reach[schedule.rank]; reach > 0) {
        const auto last = static_cast<int>((schedule.rank + reach) % schedule.ranks);
        home_ = traffic.receive(last, Tag::home, ownOnHost_.mapped(), own_.bytes());
    }
}

double RingGradients::receive(Traffic& traffic, uint32_t step) {
    if (step == 0 || !isHere(step)) {
        return 0;
    }
    Slot& slot = slotOf(step);
    traffic.await(slot.added);
    const uint64_t bytes = layouts_[blocks_.schedule().ownerOf(step)].bytes;
    const auto arrived = [&](uint64_t offset, uint64_t size) {
        gpu_.toDevice().submit(
            [&](VkCommandBuffer commands) { gpu_.copy(commands, slot.in, offset, slot.addend, offset, size); },
            {slot.added});
    };
    const Traffic::Ticket sums = traffic.receive(blocks_.previous(), Tag::gradients, slot.in.mapped(), bytes, arrived);
    const double idle = traffic.awaitIdle(sums, gpu_.kernels().last());
    slot.added = gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            add_.record(commands, slot.sum.address(), slot.addend.address(), bytes / sizeof(float));
        },
        {gpu_.toDevice().last()});
    return idle;
}

void RingGradients::finish(Traffic& traffic, uint32_t step) {
    if (!isHere(step)) {
        return;
    }
    Slot& slot = slotOf(step);
    traffic.await(slot.sent);
    const uint64_t bytes = layouts_[blocks_.schedule().ownerOf(step)].bytes;
    if (step == 0 && !blocks_.schedule().sendsBlock(0)) {
        slot.copied =
            gpu_.kernels().submit([&](VkCommandBuffer commands) { gpu_.copy(commands, slot.sum, 0, own_, 0, bytes); });
        return;
    }
    slot.copied =
        gpu_.toHost().submit([&](VkCommandBuffer commands) { gpu_.copy(commands, slot.sum, 0, slot.out, 0, bytes); },
                             {gpu_.kernels().last()});
}

void RingGradients::send(Traffic& traffic, uint32_t step) {
    const Schedule& schedule = blocks_.schedule();
    if (!isHere(step) || (step == 0 && !schedule.sendsBlock(0))) {
        return;
    }
    Slot& slot = slotOf(step);
    const uint32_t owner = schedule.ownerOf(step);
    traffic.await(slot.copied);
    if (schedule.sendsBlock(step)) {
        slot.sent = traffic.send(blocks_.next(), Tag::gradients, slot.out.mapped(), layouts_[owner].bytes);
    } else {
        slot.sent = traffic.send(static_cast<int>(owner), Tag::home, slot.out.mapped(), layouts_[owner].bytes);
    }
}

void RingGradients::complete(Traffic& traffic) {
    if (home_ == 0) {
        return;
    }
    traffic.await(home_);
    gpu_.toDevice().submit([&](VkCommandBuffer commands) { gpu_.copy(commands, ownOnHost_, 0, own_, 0, own_.bytes()); },
                           {gpu_.kernels().last()});
}

} // namespace vkf::mpi
