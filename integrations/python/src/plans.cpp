// SPDX-License-Identifier: MIT
#include "plans.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "errors.hpp"
#include "functions.hpp"
#include "storage.hpp"

namespace vkf::python {
namespace {

template <typename Bindings> struct Member {
    std::string_view name;
    VkfBinding Bindings::*binding;
};

constexpr std::array attentionMembers = {
    Member<VkfBindings>{"q", &VkfBindings::q},
    Member<VkfBindings>{"k", &VkfBindings::k},
    Member<VkfBindings>{"v", &VkfBindings::v},
    Member<VkfBindings>{"o", &VkfBindings::o},
    Member<VkfBindings>{"lse", &VkfBindings::lse},
    Member<VkfBindings>{"lengths", &VkfBindings::keyLengths},
    Member<VkfBindings>{"block_table", &VkfBindings::blockTable},
    Member<VkfBindings>{"sinks", &VkfBindings::sinks},
    Member<VkfBindings>{"alibi", &VkfBindings::alibiSlopes},
    Member<VkfBindings>{"bias", &VkfBindings::bias},
    Member<VkfBindings>{"mask", &VkfBindings::mask},
    Member<VkfBindings>{"chosen_keys", &VkfBindings::chosenKeys},
    Member<VkfBindings>{"cu_seqlens_q", &VkfBindings::cuSeqlensQ},
    Member<VkfBindings>{"cu_seqlens_k", &VkfBindings::cuSeqlensK},
    Member<VkfBindings>{"dropout_seed", &VkfBindings::dropoutSeed},
    Member<VkfBindings>{"tile_map", &VkfBindings::tileMap},
};

constexpr std::array backwardMembers = {
    Member<VkfBackwardBindings>{"dout", &VkfBackwardBindings::dout},
    Member<VkfBackwardBindings>{"dlse", &VkfBackwardBindings::dlse},
    Member<VkfBackwardBindings>{"dq", &VkfBackwardBindings::dq},
    Member<VkfBackwardBindings>{"dk", &VkfBackwardBindings::dk},
    Member<VkfBackwardBindings>{"dv", &VkfBackwardBindings::dv},
};

constexpr std::array mergeMembers = {
    Member<VkfMergeBindings>{"partials", &VkfMergeBindings::partials},
    Member<VkfMergeBindings>{"partial_lse", &VkfMergeBindings::partialLse},
    Member<VkfMergeBindings>{"o", &VkfMergeBindings::o},
    Member<VkfMergeBindings>{"lse", &VkfMergeBindings::lse},
};

constexpr std::array appendMembers = {
    Member<VkfAppendBindings>{"new_k", &VkfAppendBindings::newK},
    Member<VkfAppendBindings>{"new_v", &VkfAppendBindings::newV},
    Member<VkfAppendBindings>{"k", &VkfAppendBindings::k},
    Member<VkfAppendBindings>{"v", &VkfAppendBindings::v},
    Member<VkfAppendBindings>{"lengths", &VkfAppendBindings::lengths},
    Member<VkfAppendBindings>{"block_table", &VkfAppendBindings::blockTable},
    Member<VkfAppendBindings>{"q", &VkfAppendBindings::q},
    Member<VkfAppendBindings>{"rotated_q", &VkfAppendBindings::rotatedQ},
};

// Fills in the binding of this name, if the struct has it.
template <typename Members, typename Bindings>
bool setBinding(const Members& members, Bindings& bindings, std::string_view name, const VkfBinding& binding) {
    for (const auto& member : members) {
        if (member.name == name) {
            bindings.*member.binding = binding;
            return true;
        }
    }
    return false;
}

// With a digit behind it, the name of an array that the functions of the call declare.
constexpr std::string_view functionArrayPrefix = "function_array_";

bool setAttentionBinding(VkfBindings& bindings, std::string_view name, const VkfBinding& binding) {
    if (name.size() == functionArrayPrefix.size() + 1 && name.starts_with(functionArrayPrefix)) {
        const int number = name.back() - '0';
        if (number < 0 || number >= VKF_MAX_FUNCTION_ARRAYS) {
            return false;
        }
        bindings.functionArrays[number] = binding;
        return true;
    }
    return setBinding(attentionMembers, bindings, name, binding);
}

// The problem with these functions, if there are some.
VkfProblem withFunctions(VkfProblem problem, const std::shared_ptr<Functions>& functions) {
    problem.functions = functions == nullptr ? nullptr : functions->handle();
    return problem;
}

// Calls toStruct(name, binding) for each array of a call.
template <typename ToStruct>
void bindAll(const std::shared_ptr<Device>& device, const nb::dict& arrays, const ToStruct& toStruct) {
    for (const auto& [key, value] : arrays) {
        const auto name = nb::cast<std::string>(key);
        const auto place = nb::cast<nb::tuple>(value);
        const auto& storage = nb::cast<const Storage&>(place[0]);
        if (storage.device() != device) {
            refuse(name + " is on another device than the call");
        }
        if (!toStruct(name, storage.binding(nb::cast<uint64_t>(place[1])))) {
            refuse("a call has no binding " + name);
        }
    }
}

// Runs steps in submissions of their own, and asks for Ctrl-C in between. record(commands, step) returns what the
// library's function returned.
template <typename Record>
double runSteps(Device& device, uint32_t stepCount, const Record& record, VkfMessage& message) {
    double seconds = 0;
    for (uint32_t step = 0; step < stepCount; step++) {
        if (step > 0) {
            raiseInterrupt();
        }
        seconds += device.host().submit([&](VkCommandBuffer commands) { check(record(commands, step), message); });
    }
    return seconds;
}

class AttentionPlan {
public:
    AttentionPlan(std::shared_ptr<Device> device, const VkfProblem& problem, std::shared_ptr<Functions> functions)
        : device_(std::move(device)), functions_(std::move(functions)),
          plan_(device_->use([&] { return host::Plan(device_->host(), withFunctions(problem, functions_)); })) {}

    double run(const nb::dict& arrays) {
        VkfBindings bindings = bindingsOf(arrays);
        return device_->use([&] {
            const PooledBuffer scratch(*device_, plan_.info().scratchBytes);
            bindings.scratch = scratch.binding();
            VkfMessage message{};
            return runSteps(
                *device_, plan_.info().stepCount,
                [&](VkCommandBuffer commands, uint32_t step) {
                    return vkfCmdAttentionSteps(commands, plan_.handle(), &bindings, step, 1, &message);
                },
                message);
        });
    }

    // Writes the binding tile_map. Only with VKF_USE_TILE_MAP.
    double mapTiles(const nb::dict& arrays) {
        VkfBindings bindings = bindingsOf(arrays);
        return device_->use([&] {
            const PooledBuffer scratch(*device_, plan_.info().scratchBytes);
            bindings.scratch = scratch.binding();
            return device_->host().submit([&](VkCommandBuffer commands) {
                VkfMessage message{};
                check(vkfCmdMapTiles(commands, plan_.handle(), &bindings, &message), message);
            });
        });
    }

    nb::dict info() const {
        const VkfPlanInfo& info = plan_.info();
        nb::dict entries;
        entries["path"] = vkfPathName(info.path);
        entries["description"] = info.description;
        entries["tile"] = info.tile;
        entries["steps"] = info.stepCount;
        entries["scratch_bytes"] = info.scratchBytes;
        entries["tile_map_bytes"] = info.tileMapBytes;
        entries["kv_splits"] = info.kvSplits;
        entries["operations"] = info.operations;
        entries["minimum_bytes"] = info.minimumBytes;
        return entries;
    }

    // {path: reason for it or against it}.
    nb::dict reasons() const {
        nb::dict reasons;
        for (int32_t path = VKF_PATH_SCALAR; path <= VKF_PATH_WGMMA; path++) {
            auto decision = make<VkfPathDecision>();
            VkfMessage message{};
            check(vkfGetPlanPath(plan_.handle(), static_cast<VkfPath>(path), &decision, &message), message);
            reasons[vkfPathName(static_cast<VkfPath>(path))] = decision.reason;
        }
        return reasons;
    }

private:
    VkfBindings bindingsOf(const nb::dict& arrays) const {
        auto bindings = make<VkfBindings>();
        bindAll(device_, arrays, [&](const std::string& name, const VkfBinding& binding) {
            return setAttentionBinding(bindings, name, binding);
        });
        return bindings;
    }

    std::shared_ptr<Device> device_;
    std::shared_ptr<Functions> functions_; // it outlives the plan
    host::Plan plan_;
};

class BackwardPlan {
public:
    BackwardPlan(std::shared_ptr<Device> device, VkfBackwardProblem problem, const VkfProblem& forward,
                 std::shared_ptr<Functions> functions)
        : device_(std::move(device)), functions_(std::move(functions)) {
        const VkfProblem attention = withFunctions(forward, functions_);
        problem.forward = &attention;
        VkfMessage message{};
        check(device_->use(
                  [&] { return vkfCreateBackward(device_->host().context(), &problem, backward_.put(), &message); }),
              message);
        check(vkfGetBackwardInfo(backward_.get(), &info_, &message), message);
    }

    double run(const nb::dict& arrays) {
        auto forward = make<VkfBindings>();
        auto bindings = make<VkfBackwardBindings>();
        bindings.forward = &forward;
        bindAll(device_, arrays, [&](const std::string& name, const VkfBinding& binding) {
            return setAttentionBinding(forward, name, binding) || setBinding(backwardMembers, bindings, name, binding);
        });
        return device_->use([&] {
            const PooledBuffer scratch(*device_, info_.scratchBytes);
            bindings.scratch = scratch.binding();
            VkfMessage message{};
            return runSteps(
                *device_, info_.stepCount,
                [&](VkCommandBuffer commands, uint32_t step) {
                    return vkfCmdBackwardSteps(commands, backward_.get(), &bindings, step, 1, &message);
                },
                message);
        });
    }

    nb::dict info() const {
        nb::dict entries;
        entries["path"] = vkfPathName(info_.path);
        entries["description"] = info_.description;
        entries["steps"] = info_.stepCount;
        entries["scratch_bytes"] = info_.scratchBytes;
        return entries;
    }

private:
    std::shared_ptr<Device> device_;       // outlives the backward pass, whose context it has
    std::shared_ptr<Functions> functions_; // outlive it too
    Backward backward_;
    VkfBackwardInfo info_ = make<VkfBackwardInfo>();
};

class MergePlan {
public:
    MergePlan(std::shared_ptr<Device> device, const VkfMergeProblem& problem) : device_(std::move(device)) {
        VkfMessage message{};
        check(device_->use([&] { return vkfCreateMerge(device_->host().context(), &problem, merge_.put(), &message); }),
              message);
    }

    double run(const nb::dict& arrays) {
        auto bindings = make<VkfMergeBindings>();
        bindAll(device_, arrays, [&](const std::string& name, const VkfBinding& binding) {
            return setBinding(mergeMembers, bindings, name, binding);
        });
        return device_->use([&] {
            return device_->host().submit([&](VkCommandBuffer commands) {
                VkfMessage message{};
                check(vkfCmdMerge(commands, merge_.get(), &bindings, &message), message);
            });
        });
    }

private:
    std::shared_ptr<Device> device_;
    Merge merge_;
};

class AppendPlan {
public:
    AppendPlan(std::shared_ptr<Device> device, const VkfAppendProblem& problem) : device_(std::move(device)) {
        VkfMessage message{};
        check(
            device_->use([&] { return vkfCreateAppend(device_->host().context(), &problem, append_.put(), &message); }),
            message);
    }

    // Appends, and then adds the rows to the lengths.
    double run(const nb::dict& arrays) {
        auto bindings = make<VkfAppendBindings>();
        bindAll(device_, arrays, [&](const std::string& name, const VkfBinding& binding) {
            return setBinding(appendMembers, bindings, name, binding);
        });
        VkfMessage message{};
        const auto append = [&](VkCommandBuffer commands) {
            check(vkfCmdAppend(commands, append_.get(), &bindings, &message), message);
        };
        const auto advance = [&](VkCommandBuffer commands) {
            check(vkfCmdAdvance(commands, append_.get(), &bindings.lengths, &message), message);
        };
        return device_->use([&] { return device_->host().submit(append, advance)[0]; });
    }

private:
    std::shared_ptr<Device> device_;
    Append append_;
};

} // namespace

void definePlans(nb::module_& module) {
    nb::class_<AttentionPlan>(module, "AttentionPlan")
        .def(nb::init<std::shared_ptr<Device>, const VkfProblem&, std::shared_ptr<Functions>>(), nb::arg("device"),
             nb::arg("problem"), nb::arg("functions").none() = nb::none())
        .def("run", &AttentionPlan::run)
        .def("map_tiles", &AttentionPlan::mapTiles)
        .def("info", &AttentionPlan::info)
        .def("reasons", &AttentionPlan::reasons);
    nb::class_<BackwardPlan>(module, "BackwardPlan")
        .def(nb::init<std::shared_ptr<Device>, const VkfBackwardProblem&, const VkfProblem&,
                      std::shared_ptr<Functions>>(),
             nb::arg("device"), nb::arg("problem"), nb::arg("forward"), nb::arg("functions").none() = nb::none())
        .def("run", &BackwardPlan::run)
        .def("info", &BackwardPlan::info);
    nb::class_<MergePlan>(module, "MergePlan")
        .def(nb::init<std::shared_ptr<Device>, const VkfMergeProblem&>())
        .def("run", &MergePlan::run);
    nb::class_<AppendPlan>(module, "AppendPlan")
        .def(nb::init<std::shared_ptr<Device>, const VkfAppendProblem&>())
        .def("run", &AppendPlan::run);
}

} // namespace vkf::python
