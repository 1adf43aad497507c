// SPDX-License-Identifier: MIT
#include "ring/gradients.hpp"

#include <algorithm>

namespace vkf::mpi {

RingGradients::RingGradients(State& state, const VkfProblem& whole, const RingBlocks& blocks)
    : state_(state), gpu_(*state.gpu), blocks_(blocks), add_(*state.gpu), window_(state.ranks, *state.gpu) {
    for (const Part& part : blocks_.schedule().parts) {
        layouts_.emplace_back(whole, part, VKF_TYPE_F32, VKF_TYPE_F32);
        most_ = std::max(most_, layouts_.back().bytes);
    }
    const uint64_t ownBytes = layouts_[blocks_.schedule().rank].bytes;
    for (Memory& own : own_) {
        own = Memory(gpu_, ownBytes, Place::device);
    }
    if (blocks_.schedule().ranks == 1) {
        return;
    }
    home_ = Memory(gpu_, ownBytes, Place::device);
    slotOf(1).sum = Memory(gpu_, most_, Place::device);
    if (goesFar()) {
        slotOf(2).sum = Memory(gpu_, most_, Place::device);
        for (Slot& slot : slots_) {
            slot.addend = Memory(gpu_, most_, Place::device);
        }
    }
}

void RingGradients::connect() {
    const uint32_t ranks = blocks_.schedule().ranks;
    if (ranks == 1) {
        return;
    }
    isShared_ =
        blocks_.isShared() && window_.allocate(std::vector<uint64_t>(ranks, std::max<uint64_t>(homeAt() + most_, 1)));
    state_.ranks.together([&] {
        if (isShared_) {
            return;
        }
        for (Slot& slot : slots_) {
            slot.out = Memory(gpu_, most_, Place::host);
            if (goesFar()) {
                slot.in = Memory(gpu_, most_, Place::host);
            }
        }
        homeOnHost_ = Memory(gpu_, home_.bytes(), Place::host);
    });
}

void RingGradients::begin() {
    for (Slot& slot : slots_) {
        slot.sent = 0;
    }
    homeMessage_ = 0;
}

void RingGradients::expectHome(Traffic& traffic) {
    const Schedule& schedule = blocks_.schedule();
    const uint32_t reach = schedule.reach[schedule.rank];
    if (reach == 0) {
        return;
    }
    const auto last = static_cast<int>((schedule.rank + reach) % schedule.ranks);
    traffic.await(homeArrived_);
    if (isShared_) {
        homeMessage_ = traffic.receive(last, Tag::home, &homeSignal_, 1);
        traffic.send(last, Tag::homeIsFree, &one_, 1);
    } else {
        homeMessage_ = traffic.receive(last, Tag::home, homeOnHost_.mapped(), homeOnHost_.bytes());
    }
}

// Adds what has arrived, after the kernels of the step.
void RingGradients::addArrived(uint32_t step, const Moment& arrived) {
    Slot& slot = slotOf(step);
    const uint64_t bytes = layouts_[blocks_.schedule().ownerOf(step)].bytes;
    slot.added = gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            add_.record(commands, slot.sum.address(), slot.addend.address(), bytes / sizeof(float));
        },
        {arrived});
}

double RingGradients::receiveShared(Traffic& traffic, uint32_t step) {
    Slot& slot = slotOf(step);
    const Moment computed = gpu_.kernels().last();
    const double idle =
        traffic.awaitIdle(traffic.receive(blocks_.previous(), Tag::gradients, &slot.signal, 1), computed);
    const uint64_t bytes = layouts_[blocks_.schedule().ownerOf(step)].bytes;
    const Moment arrived = gpu_.toDevice().submit(
        [&](VkCommandBuffer commands) {
            gpu_.copy(commands, window_.of(blocks_.previous()), windowAt(step - 1), slot.addend, 0, bytes);
        },
        {slot.added});
    addArrived(step, arrived);
    const double copying = traffic.awaitIdle(arrived, computed);
    traffic.send(blocks_.previous(), Tag::taken, &one_, 1);
    traffic.countShared(bytes);
    return idle + copying;
}

double RingGradients::receive(Traffic& traffic, uint32_t step) {
    if (step < 2 || !isHere(step)) {
        return 0;
    }
    if (isShared_) {
        return receiveShared(traffic, step);
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
    addArrived(step, gpu_.toDevice().last());
    return idle;
}

void RingGradients::finish(Traffic& traffic, uint32_t step) {
    if (!isHere(step)) {
        return;
    }
    Slot& slot = slotOf(step);
    traffic.await(slot.sent);
    const uint64_t bytes = layouts_[blocks_.schedule().ownerOf(step)].bytes;
    const Schedule& schedule = blocks_.schedule();
    const bool goesOn = schedule.sendsBlock(step);
    const uint32_t reader = goesOn ? schedule.rank : schedule.ownerOf(step); // whose window it is
    const Memory& out = isShared_ ? window_.of(static_cast<int>(reader)) : slot.out;
    const uint64_t place = goesOn ? windowAt(step) : homeAt();
    const uint64_t at = isShared_ ? place : 0;
    if (isShared_ && !goesOn) {
        traffic.await(traffic.receive(static_cast<int>(reader), Tag::homeIsFree, &slot.signal, 1));
    }
    slot.copied = gpu_.toHost().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, slot.sum, 0, out, at, bytes); }, {gpu_.kernels().last()});
}

void RingGradients::send(Traffic& traffic, uint32_t step) {
    const Schedule& schedule = blocks_.schedule();
    if (!isHere(step)) {
        return;
    }
    Slot& slot = slotOf(step);
    const uint32_t owner = schedule.ownerOf(step);
    traffic.await(slot.copied);
    const bool goesOn = schedule.sendsBlock(step);
    const int to = goesOn ? blocks_.next() : static_cast<int>(owner);
    const Tag tag = goesOn ? Tag::gradients : Tag::home;
    slot.sent =
        isShared_ ? traffic.send(to, tag, &one_, 1) : traffic.send(to, tag, slot.out.mapped(), layouts_[owner].bytes);
    if (isShared_ && goesOn) {
        slot.sent = traffic.receive(to, Tag::taken, &slot.answer, 1);
    }
}

void RingGradients::complete(Traffic& traffic, uint32_t group) {
    if (homeMessage_ == 0) {
        return; // no other rank sees the keys
    }
    traffic.await(homeMessage_);
    const Memory& from = isShared_ ? window_.of(static_cast<int>(blocks_.schedule().rank)) : homeOnHost_;
    const uint64_t at = isShared_ ? homeAt() : 0;
    homeArrived_ = gpu_.toDevice().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, from, at, home_, 0, home_.bytes()); }, {homeAdded_});
    homeAdded_ = gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            add_.record(commands, own(group).address(), home_.address(), home_.bytes() / sizeof(float));
        },
        {homeArrived_});
}

} // namespace vkf::mpi
