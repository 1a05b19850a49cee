internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    /// Handles an invocation; any request ID is accepted, because some routers count them per realm and so with gaps.
    mutating func invoke(
        _ request: WAMPID, _ registration: WAMPID, _ details: ValueMap, _ arguments: WAMPArguments, into effects: inout [ClientEffect]
    ) {
        let hasMore = !details.isEmpty && details["progress"] == true
        if let handle = invocations.handle(of: request) {
            return add(arguments, to: handle, hasMore: hasMore, into: &effects)
        }
        // WAMP, "Progressive Call Invocations": this input was in flight when the handler answered.
        guard !invocations.isUnread(request, hasMore: hasMore) else { return }
        guard let number = procedures.number(of: registration), let procedure = procedures[number] else {
            return refuse(request, WAMPURI.Error.noSuchRegistration, into: &effects)
        }
        guard procedures.begin(number, limit: policy.maximumInvocations) else {
            return refuse(request, WAMPURI.Error.unavailable, into: &effects)
        }
        let handle = newHandle()
        let wantsProgress = !details.isEmpty && details["receive_progress"] == true
        invocations.begin(.init(request: request, procedure: number, wantsProgress: wantsProgress, isOpen: hasMore), as: handle)
        effects.append(.event(.invoked(handle, procedure: procedure.handle, details: details, arguments)))
    }

    private mutating func add(_ arguments: WAMPArguments, to handle: ClientHandle, hasMore: Bool, into effects: inout [ClientEffect]) {
        guard let invocation = invocations[handle], invocation.isOpen, !invocation.isInterrupted else { return }
        if !hasMore { invocations.update(handle) { $0.isOpen = false } }
        effects.append(.event(.invokedFurther(handle, arguments, isFinal: !hasMore)))
    }

    mutating func interrupt(_ request: WAMPID, options: ValueMap, into effects: inout [ClientEffect]) {
        guard let handle = invocations.handle(of: request), invocations[handle]?.isInterrupted == false else { return }
        invocations.update(handle) { $0.isInterrupted = true }
        effects.append(.event(.interrupted(handle, reason: options["reason"]?.string)))
    }

    mutating func yield(_ handle: ClientHandle, _ arguments: WAMPArguments, isFinal: Bool, into effects: inout [ClientEffect]) {
        if isFinal {
            guard let invocation = finish(handle) else { return }
            effects.append(.send(.yield(request: invocation.request, options: ValueMap(), arguments)))
        } else if let invocation = invocations[handle], invocation.wantsProgress, !invocation.isInterrupted {
            effects.append(.send(.yield(request: invocation.request, options: ["progress": true], arguments)))
        }
    }

    mutating func fail(_ handle: ClientHandle, uri: String, _ arguments: WAMPArguments, into effects: inout [ClientEffect]) {
        guard let invocation = finish(handle) else { return }
        refuse(invocation.request, WAMPURI.isValid(uri) ? uri : WAMPURI.Error.runtimeError, arguments, into: &effects)
    }

    private mutating func finish(_ handle: ClientHandle) -> InvocationTable.Invocation? {
        guard let invocation = invocations.end(handle) else { return nil }
        procedures.end(invocation.procedure)
        return invocation
    }

    private func refuse(_ request: WAMPID, _ uri: String, _ arguments: WAMPArguments = .none, into effects: inout [ClientEffect]) {
        effects.append(.send(.error(.invocation, request: request, details: ValueMap(), uri: uri, arguments)))
    }
}
