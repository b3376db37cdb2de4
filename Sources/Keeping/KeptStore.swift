internal import Dispatch
internal import Glibc
internal import SystemSupport

/// A picture that may be kept.
package struct KeepingOffer: Sendable {
    /// The bytes of a picture, and its media type.
    package struct Content: Sendable {
        package let bytes: [UInt8], type: String

        package init(bytes: [UInt8], type: String) {
            self.bytes = bytes
            self.type = type
        }
    }

    package let model: String, version: String
    package let reasons: Set<KeptReason>
    package let byteCount: Int
    /// Copies the picture; nil if its bytes are no picture's.
    package let read: @Sendable () -> Content?

    package init(
        model: String, version: String, reasons: Set<KeptReason>, byteCount: Int,
        read: @escaping @Sendable () -> Content?
    ) {
        self.model = model
        self.version = version
        self.reasons = reasons
        self.byteCount = byteCount
        self.read = read
    }
}

/// Something that has happened to kept pictures.
package enum KeepingEvent: Sendable {
    /// A picture is kept, or is kept for further reasons.
    case kept(KeptPicture, reasons: Set<KeptReason>)
    /// A picture of a model was not kept.
    case dropped(KeepingRefusal, KeepingError?)
    /// A sentence for the log.
    case notice(String)
}

/// The time, by two clocks.
package struct KeepingTime: Sendable {
    /// Milliseconds since 1970.
    package var date: Int
    /// Milliseconds of a clock that never goes back.
    package var tick: Int

    package init(date: Int, tick: Int) {
        self.date = date
        self.tick = tick
    }

    package static var now: KeepingTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return KeepingTime(
            date: Int(time.tv_sec) &* 1_000 &+ Int(time.tv_nsec) / 1_000_000,
            tick: Int(clamping: MonotonicInstant.now.nanoseconds / 1_000_000))
    }
}

/// The kept pictures in a folder. One thread writes them; offers never wait for it, or for the disk. Thread-safe.
package final class KeptStore: Sendable {
    /// The state that the thread uses; it may outlive the store.
    private let core: KeptCore

    /// Opens the folder, and reads the records in it: blocks.
    /// - Parameters:
    ///   - gate: the queue; nil for the usual one.
    ///   - report: called with each event, on any thread; it must not block.
    package init(
        folder: String, limits: KeptShelf.Limits, gate: KeepingGate? = nil,
        clock: @escaping @Sendable () -> KeepingTime = { .now }, report: @escaping @Sendable (KeepingEvent) -> Void
    ) throws(KeepingError) {
        let files = try KeptFiles(folder: folder)
        let (found, damaged) = try files.load()
        if damaged > 0 {
            report(.notice("\(damaged) kept \(damaged == 1 ? "picture was" : "pictures were") damaged, and removed"))
        }
        let now = clock()
        var queue = KeepingQueue(
            gate: gate
                ?? KeepingGate(
                    rate: limits.rate,
                    recent: found.map { now.date &- $0.time }.filter { (0..<60_000).contains($0) }
                        .map { now.tick &- $0 }))
        queue.gate.rate = limits.rate
        core = KeptCore(
            files: files, shelf: KeptShelf(found, limits: limits), queue: queue, clock: clock, report: report)
        let core = core
        do throws(SystemError) {
            try SystemThread.start("kept") { core.run() }
        } catch {
            throw KeepingError("cannot start a thread for kept pictures: \(error.message)")
        }
    }

    deinit {
        core.queue.withLock { $0.isEnding = true }
        core.wake.signal()
    }

    /// Changes the limits; what exceeds them goes soon.
    package func use(_ limits: KeptShelf.Limits) {
        core.shelf.withLock { $0.limits = limits }
        core.queue.withLock { $0.gate.rate = limits.rate }
        core.wake.signal()
    }

    /// Offers a picture. Never blocks.
    /// - Returns: work that copies the picture, so that its owner can release it before it is written; nil if the
    ///   picture is not kept.
    package func offer(_ offer: KeepingOffer) -> (@Sendable () -> Void)? {
        let waiting = WaitingPicture(offer), tick = core.clock().tick
        let refusal = core.queue.withLock { queue -> KeepingRefusal? in
            if let refusal = queue.gate.enter(offer.byteCount, at: tick) { return refusal }
            queue.waiting.append(waiting)
            return nil
        }
        if let refusal {
            core.report(.dropped(refusal, nil))
            return nil
        }
        core.wake.signal()
        return { waiting.copy() }
    }

    /// The kept pictures, as they are now.
    package var shelf: KeptShelf { core.shelf.withLock { $0 } }

    /// The number of kept pictures, and the size of their files in bytes.
    package var usage: (pictures: Int, bytes: Int) { core.shelf.withLock { ($0.pictures.count, $0.bytes) } }

    /// The bytes of a kept picture; nil if it is not kept. Blocks.
    package func read(_ id: String) -> (picture: KeptPicture, bytes: [UInt8])? {
        guard let picture = core.shelf.withLock({ $0.picture(id) }) else { return nil }
        if let bytes = core.files.read(picture) { return (picture, bytes) }
        // It may have been removed meanwhile.
        core.removeDamaged(picture)
        return nil
    }

    /// Removes pictures for good, with those that wait to be written: on return no file holds them. Blocks.
    /// - Parameter chosen: the pictures to remove.
    /// - Returns: the number of removed pictures.
    @discardableResult
    package func remove(where chosen: @escaping @Sendable (KeptPicture) -> Bool) throws(KeepingError) -> Int {
        try core.remove { $0.pictures.filter(chosen) }
    }

    /// Removes the pictures of digests; see ``remove(where:)``.
    @discardableResult
    package func remove(_ ids: [String]) throws(KeepingError) -> Int {
        try core.remove { shelf in ids.compactMap { shelf.picture($0) } }
    }

    /// Writes what waits: blocks.
    package func flush() { core.work() }
}

/// A picture that waits to be written.
private final class WaitingPicture: Sendable {
    let offer: KeepingOffer
    private let content: Guarded<State>

    private enum State: Sendable {
        case lent(@Sendable () -> KeepingOffer.Content?)
        case copied(KeepingOffer.Content?)
    }

    init(_ offer: KeepingOffer) {
        self.offer = offer
        content = Guarded(.lent(offer.read))
    }

    /// Copies the picture, if that is not done yet.
    func copy() {
        content.withLock { state in
            if case .lent(let read) = state { state = .copied(read()) }
        }
    }

    /// The copy; nil if the bytes are no picture's.
    func take() -> KeepingOffer.Content? {
        copy()
        return content.withLock { state in
            defer { state = .copied(nil) }
            if case .copied(let content) = state { return content }
            return nil
        }
    }
}

/// The pictures that wait, and their gate.
private struct KeepingQueue: Sendable {
    var gate: KeepingGate
    var waiting: [WaitingPicture] = []
    var isEnding = false

    init(gate: KeepingGate) { self.gate = gate }
}

/// The state of the store, with the work of its thread.
private final class KeptCore: Sendable {
    let files: KeptFiles
    let shelf: Guarded<KeptShelf>
    let queue: Guarded<KeepingQueue>
    let wake = DispatchSemaphore(value: 0)
    let clock: @Sendable () -> KeepingTime
    let report: @Sendable (KeepingEvent) -> Void
    /// Held while files are changed, so only threads that may block take it.
    private let changing = Guarded<Void>(())

    /// The interval at which old pictures are looked for.
    private static let interval = DispatchTimeInterval.seconds(60)

    init(
        files: KeptFiles, shelf: KeptShelf, queue: KeepingQueue, clock: @escaping @Sendable () -> KeepingTime,
        report: @escaping @Sendable (KeepingEvent) -> Void
    ) {
        self.files = files
        self.shelf = Guarded(shelf)
        self.queue = Guarded(queue)
        self.clock = clock
        self.report = report
    }

    func run() {
        while !queue.withLock({ $0.isEnding }) {
            work()
            _ = wake.wait(timeout: .now() + Self.interval)
        }
    }

    /// Writes what waits, and removes what is too old or too much.
    func work() {
        changing.withLock { _ in
            writeAll()
            do throws(KeepingError) {
                try removeUnlocked(shelf.withLock { $0.leaving(at: clock().date) })
            } catch {
                report(.notice("kept pictures that should go are still there: \(error.message)"))
            }
        }
    }

    private func writeAll() {
        while let next = queue.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) {
            keep(next)
            queue.withLock { $0.gate.leave(next.offer.byteCount) }
        }
    }

    private func keep(_ waiting: WaitingPicture) {
        let offer = waiting.offer
        guard let content = waiting.take() else { return report(.dropped(.noPicture, nil)) }
        let id = SHA256.text(SHA256.digest(content.bytes)), now = clock()
        if let known = shelf.withLock({ $0.picture(id) }) { return add(offer, to: known) }
        let picture = KeptPicture(
            id: id, model: offer.model, version: offer.version, reasons: offer.reasons, time: now.date,
            bytes: content.bytes.count, type: content.type)
        guard queue.withLock({ $0.gate.isOpen(at: now.tick) }) else { return report(.dropped(.rate, nil)) }
        guard shelf.withLock({ $0.canHold(picture) }) else { return report(.dropped(.tooLarge, nil)) }
        do throws(KeepingError) {
            try removeUnlocked(shelf.withLock { $0.leaving(at: now.date, for: picture) })
            try files.write(picture, content.bytes)
        } catch {
            return report(.dropped(error.isFull ? .diskFull : .failed, error))
        }
        shelf.withLock { $0.insert(picture) }
        queue.withLock { $0.gate.kept(at: now.tick) }
        report(.kept(picture, reasons: picture.reasons))
    }

    /// Adds the reasons of another answer of the same model.
    private func add(_ offer: KeepingOffer, to known: KeptPicture) {
        let new = offer.reasons.subtracting(known.reasons)
        guard known.model == offer.model, !new.isEmpty else { return }
        var picture = known
        picture.reasons.formUnion(new)
        do throws(KeepingError) {
            try files.rewriteRecord(picture)
        } catch {
            return report(.dropped(error.isFull ? .diskFull : .failed, error))
        }
        let changed = picture
        shelf.withLock { $0.insert(changed) }
        report(.kept(changed, reasons: new))
    }

    // MARK: Removing

    func remove(_ chosen: (KeptShelf) -> [KeptPicture]) throws(KeepingError) -> Int {
        // The lock's body cannot throw.
        var outcome: Result<Int, KeepingError> = .success(0)
        changing.withLock { _ in
            writeAll()
            let leaving = chosen(shelf.withLock { $0 })
            do throws(KeepingError) {
                try removeUnlocked(leaving)
                outcome = .success(leaving.count)
            } catch {
                outcome = .failure(error)
            }
        }
        return try outcome.get()
    }

    private func removeUnlocked(_ pictures: [KeptPicture]) throws(KeepingError) {
        guard !pictures.isEmpty else { return }
        var gone: [String] = [], problem: KeepingError?
        for picture in pictures {
            do throws(KeepingError) {
                try files.remove(picture.id)
                gone.append(picture.id)
            } catch {
                problem = error
            }
        }
        let removed = gone
        shelf.withLock { $0.remove(removed) }
        if let problem { throw problem }
        try files.sync()
    }

    /// Removes a picture with a file that cannot be read.
    func removeDamaged(_ picture: KeptPicture) {
        changing.withLock { _ in
            guard shelf.withLock({ $0.picture(picture.id) }) != nil, files.read(picture) == nil else { return }
            try? removeUnlocked([picture])
            report(.notice("the kept picture \(picture.id) was damaged, and removed"))
        }
    }
}
