internal import Synchronization
internal import SystemSupport

/// A taught model and its files. Readers see one version or the next. Writers wait for each other and for the files, so
/// only threads that may block may call the methods that change it.
package final class TaughtModel: Sendable {
    package let name: String
    private let folder: String
    private let total: ByteTotal
    private let room: ReservedDiskSpace
    private let limits: Guarded<TeachingLimits>
    /// Held while files are written, so only threads that may block take it.
    private let files: Guarded<Files>
    private let current: Guarded<TaughtView>
    /// The left-out scores of the version that was evaluated last, for the next evaluation, which holds them. Nil
    /// before the first one.
    private let leftOut = Guarded<LeftOutUpkeep?>(nil)
    /// Left-out scores of a model that compares patches, and the choice of those patches.
    private let patchWork = Guarded(PatchWork())

    private struct PatchWork {
        var leftOut = LeftOutPatches()
        var thinning: PatchThinning?
    }

    private struct Files {
        var journal: JournalFile
        /// The size of the journal at which the next check for compaction is due.
        var lookedAtLength = 0
        var isRemoved = false
        /// The examples of the visible state; nil if they must be computed again.
        var newest: NewestExamples?

        /// Applies the changes of some examples.
        mutating func update(_ ids: [ExampleID], from old: TaughtState, to new: TaughtState) {
            if newest?.update(ids, from: old, to: new) == false { newest = nil }
        }
    }

    /// A picture to learn.
    package struct NewExample: Sendable {
        package let id: ExampleID
        package let label: String
        package let embedding: [Float]
        /// The vectors of its patches, for a model that compares them.
        package let patches: PatchVectors?
        /// The bytes of the picture, if it is kept.
        package let picture: [UInt8]?
        /// The caller's own name for it; nil for none, or to keep the one that it has.
        package let name: String?

        package init(
            id: ExampleID, label: String, embedding: [Float], patches: PatchVectors? = nil, picture: [UInt8]? = nil,
            name: String? = nil
        ) {
            self.id = id
            self.label = label
            self.embedding = embedding
            self.patches = patches
            self.picture = picture
            self.name = name
        }

        /// A known example with another name.
        package init(_ known: Example, named name: String) {
            self.init(
                id: known.id, label: known.label, embedding: known.embedding, patches: known.patches, name: name)
        }

        /// The example with a name; itself for nil.
        package func named(_ name: String?) -> NewExample {
            guard let name else { return self }
            return NewExample(
                id: id, label: label, embedding: embedding, patches: patches, picture: picture, name: name)
        }
    }

    /// The result for a picture.
    package struct Outcome: Sendable, Equatable {
        package let id: ExampleID
        package let label: String
        package let isNew: Bool
        /// True if the picture was known with another label.
        package let isMoved: Bool
    }

    // Wide: its own files, and what it shares with the other taught models.
    init(
        name: String, folder: String, journal: JournalFile, state: TaughtState, total: ByteTotal,
        room: ReservedDiskSpace,
        limits: Guarded<TeachingLimits>
    ) {
        self.name = name
        self.folder = folder
        self.total = total
        self.room = room
        self.limits = limits
        var files = Files(journal: journal)
        current = Guarded(TaughtView(state: state, head: Self.head(of: state, &files.newest)))
        self.files = Guarded(files)
    }

    /// The current state of the model.
    package var view: TaughtView { current.withLock { $0 } }

    /// The head of a state.
    /// - Parameter newest: the examples of its newest version. If nil and that version is served, they are computed and
    ///   stored.
    private static func head(of state: TaughtState, _ newest: inout NewestExamples?) -> TaughtClassifier? {
        guard let version = state.served else { return nil }
        let isNewest = version.number == state.versions.last?.number && state.choice.falseAlarms == nil
        if isNewest, newest == nil { newest = NewestExamples(state) }
        guard isNewest, let examples = newest else { return state.classifier(of: version.number) }
        return TaughtClassifier(version.method, examples.set, part: .all, centering: examples.centering) { false }
    }

    // MARK: Changes

    /// Learns pictures. A known picture with another label moves to that class, and one with another name gets that
    /// name. A change of names only makes no version.
    /// - Parameter digest: the digest of the embedder that made the embeddings; nil for the model's own.
    package func teach(
        _ examples: [NewExample], time: Int, by digest: String? = nil
    ) throws(TeachingError) -> [Outcome] {
        for example in examples {
            try view.state.check(label: example.label)
            if let name = example.name { try TaughtNames.check(exampleName: name) }
        }
        return try writing { files throws(TeachingError) in
            let (limits, old) = (limits.withLock { $0 }, view.state)
            guard digest == nil || digest == old.embedder.digest else {
                throw .conflict("the embedder of \(name) has changed since: send the examples again")
            }
            guard examples.allSatisfy({ $0.embedding.count == old.dimension && $0.embedding.allSatisfy(\.isFinite) })
            else { throw .invalid("an embedding has not \(old.dimension) finite numbers") }
            guard examples.allSatisfy({ old.fits($0.embedding, $0.patches) || old.example($0.id) != nil }) else {
                throw .invalid("an example has no vectors of patches as \(name) compares them")
            }
            let (outcomes, items) = Self.outcomes(of: examples, in: old)
            guard !items.isEmpty else { return outcomes }
            guard outcomes.contains(where: { $0.isNew || $0.isMoved }) else {
                try rename(items, limits, &files)
                return outcomes
            }
            let change = TaughtChange(items: items, method: old.method, time: time)
            var state = old
            state.apply(change, keeping: limits.versions)
            try check(state, limits)
            let added = Set(items.filter { $0.embedding != nil }.map(\.id))
            let pictures = examples.filter { added.contains($0.id) }
            let ids = items.map(\.id)
            files.update(ids, from: old, to: state)
            do throws(TeachingError) {
                try append(.change(change), state, pictures, limits, &files)
            } catch {
                files.update(ids, from: state, to: old)
                throw error
            }
            return outcomes
        }
    }

    /// Gives known examples other names.
    private func rename(
        _ items: [TaughtChange.Item], _ limits: TeachingLimits, _ files: inout Files
    ) throws(TeachingError) {
        var state = view.state
        let names = items.compactMap { item in item.name.map { ExampleName(id: item.id, name: $0) } }
        _ = state.apply(.named(names), keeping: .max)
        try append(.named(names), state, [], limits, &files)
    }

    /// Forgets one example.
    package func forget(_ id: ExampleID) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            guard view.state.example(id) != nil else {
                // An earlier request may have failed to remove the picture.
                try KeptPictures.remove([id], in: folder)
                try removeTruncatedEnds()
                throw .unknown("\(name) has no example with the id \(id)")
            }
            try forget([id], label: nil, &files)
        }
    }

    /// Forgets examples, in one change. Unknown ones are ignored.
    package func forget(_ ids: Set<ExampleID>) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            let known = ids.filter { view.state.example($0) != nil }
            if !known.isEmpty { try forget(known, label: nil, &files) }
        }
    }

    /// Forgets a class with all its examples.
    package func forget(label: String) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            let ids = Set(view.state.examples.filter { $0.label == label }.map(\.id))
            guard !ids.isEmpty else {
                try KeptPictures.clean(view.state, in: folder)
                try removeTruncatedEnds()
                throw .unknown("\(name) has no class \"\(label.prefix(256))\"")
            }
            try forget(ids, label: label, &files)
        }
    }

    /// Serves a kept version.
    package func serve(_ version: Int) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            var state = view.state
            guard state.version(version) != nil else {
                let kept = state.versions.map { String($0.number) }.joined(separator: ", ")
                throw .unknownVersion(
                    "\(name) keeps no version \(version): it has " + (kept.isEmpty ? "none" : kept))
            }
            guard state.serving != version else { return }
            state.serving = version
            try append(.served(version), state, [], limits.withLock { $0 }, &files)
        }
    }

    /// Replaces the embeddings by those of another embedder, computed from the kept pictures.
    /// - Parameters:
    ///   - grid: the patches of each picture, for a model that compares them.
    ///   - patches: of each example with an embedding.
    package func rebuild(
        _ embedder: Embedder, dimension: Int, grid: PatchGrid? = nil, embeddings: [ExampleID: [Float]],
        patches: [ExampleID: PatchVectors] = [:]
    ) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            var state = view.state
            guard embeddings.values.allSatisfy({ $0.count == dimension && $0.allSatisfy(\.isFinite) }) else {
                throw .invalid("an embedding has not \(dimension) finite numbers")
            }
            state.rebuild(embedder, dimension: dimension, grid: grid, embeddings: embeddings, patches: patches)
            guard state.examples.allSatisfy({ state.fits($0.embedding, $0.patches) }) else {
                throw .invalid("an example has no vectors of patches as \(name) compares them")
            }
            let gone = Set(view.state.examples.map(\.id)).subtracting(state.examples.map(\.id))
            try rewrite(state, without: gone, &files, usesReserve: false)
        }
    }

    /// Retires the model: no later change reaches its files.
    func retire(_ remove: () throws(TeachingError) -> Void) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            try remove()
            files.isRemoved = true
        }
    }

    /// The bytes of a kept picture; nil if it is not kept. Blocks.
    package func picture(_ id: ExampleID) throws(TeachingError) -> [UInt8]? {
        try KeptPictures.read(id, in: folder)
    }

    // MARK: Evaluation

    /// Evaluates the served version, if it is not evaluated yet. With `auto`, a better method becomes a new version. It
    /// takes a long time; a change ends it early.
    /// - Parameters:
    ///   - isCancelled: true from when on it ends; of normal examples it keeps its progress.
    ///   - isStopped: true if it ends at once, with less of its progress.
    package func evaluate(
        time: Int, isCancelled: () -> Bool = { false }, isStopped: () -> Bool = { false }
    ) throws(TeachingError) {
        let before = view
        guard before.isEvaluating, let version = before.state.served else { return }
        let isOver = { [self] in
            isCancelled() || view.state.next != before.state.next || view.state.serving != version.number
        }
        if let falseAlarms = before.state.choice.falseAlarms, before.state.grid != nil {
            return try evaluatePatches(version, before.state, falseAlarms, isOver, isStopped)
        }
        if let falseAlarms = before.state.choice.falseAlarms {
            return try evaluateNormal(version, before.state, falseAlarms, isOver)
        }
        guard let set = before.state.exampleSet(of: version.number) else { return }
        let isNewest = version.number == before.state.versions.last?.number
        guard before.state.choice == .auto, isNewest else {
            guard let evaluation = Evaluator.evaluate(version.method, set, isCancelled: isOver) else { return }
            return try record(evaluation, of: version.number)
        }
        guard let comparison = Evaluator.compare(set, current: version.method, isCancelled: isOver),
            let own = comparison.evaluations[version.method], let best = comparison.evaluations[comparison.preferred]
        else { return }
        try record(own, of: version.number)
        guard comparison.preferred != version.method else { return }
        let change = TaughtChange(items: [], method: comparison.preferred, time: time, evaluation: best)
        try writing { files throws(TeachingError) in
            var state = view.state
            guard state.next == before.state.next, state.serving == version.number else { return }
            let limits = limits.withLock { $0 }
            state.apply(change, keeping: limits.versions)
            try append(.change(change), state, [], limits, &files)
        }
    }

    /// Computes the left-out scores of a version, from those of the last one. A cancelled evaluation keeps its
    /// progress.
    private func evaluateNormal(
        _ version: TaughtVersion, _ state: TaughtState, _ falseAlarms: Double, _ isOver: () -> Bool
    ) throws(TeachingError) {
        let examples = state.examples.filter { $0.since <= version.number }.map { (id: $0.id, embedding: $0.embedding) }
        let scores = leftOut.withLock { kept -> [Double]? in
            var upkeep = kept ?? LeftOutUpkeep(state)
            // Otherwise the first change would copy all of it.
            kept = nil
            defer { kept = upkeep }
            return upkeep.update(to: examples, isCancelled: isOver)
        }
        guard let scores else { return }
        let evaluation = Evaluation(LeftOutScores(scores, falseAlarms: falseAlarms), examples: examples.count)
        try record(evaluation, of: version.number)
    }

    /// Evaluates a version of a model that compares patches: chooses those, too, if there are more than the limit.
    private func evaluatePatches(
        _ version: TaughtVersion, _ state: TaughtState, _ falseAlarms: Double, _ isOver: () -> Bool,
        _ isStopped: () -> Bool
    ) throws(TeachingError) {
        let maximum = max(1, limits.withLock { $0.patches })
        let examples = state.examples.filter { $0.since <= version.number }.compactMap { example in
            example.patches.map { (id: example.id, patches: $0) }
        }
        let evaluation = patchWork.withLock { work -> Evaluation? in
            // The lock does not let the closures escape either, which the compiler does not know.
            withoutActuallyEscaping(isOver) { isOver in
                withoutActuallyEscaping(isStopped) { isStopped in
                    var limits = LeftOutPatches.Limits()
                    limits.isOver = isOver
                    limits.isCancelled = isStopped
                    guard let scores = work.leftOut.update(to: examples, limits) else { return nil }
                    let leftOut = LeftOutScores(scores, falseAlarms: falseAlarms)
                    guard examples.reduce(0, { $0 + $1.patches.count }) > maximum else {
                        work.thinning = nil
                        return Evaluation(leftOut, examples: examples.count)
                    }
                    if work.thinning?.isOf(examples, maximum: maximum) != true {
                        work.thinning = PatchThinning(examples, maximum: maximum)
                    }
                    guard let kept = work.thinning?.selection(isCancelled: { isOver() || isStopped() }) else {
                        return nil
                    }
                    work.thinning = nil
                    return Evaluation(leftOut, examples: examples.count, kept: kept)
                }
            }
        }
        if let evaluation { try record(evaluation, of: version.number) }
    }

    private func record(_ evaluation: Evaluation, of version: Int) throws(TeachingError) {
        try writing { files throws(TeachingError) in
            var state = view.state
            guard state.version(version) != nil else { return }
            let record = JournalRecord.evaluated(version, evaluation)
            _ = state.apply(record, keeping: .max)
            try append(record, state, [], limits.withLock { $0 }, &files)
        }
    }

    // MARK: Files

    /// Runs `body` as the only writer.
    private func writing<Result>(
        _ body: (inout Files) throws(TeachingError) -> Result
    ) throws(TeachingError) -> Result {
        // The lock's body cannot throw.
        var outcome: Swift.Result<Result, TeachingError>?
        files.withLock { files in
            guard !files.isRemoved else {
                outcome = .failure(.unknown("there is no taught model \(name): it was deleted"))
                return
            }
            do throws(TeachingError) { outcome = .success(try body(&files)) } catch { outcome = .failure(error) }
        }
        guard let outcome else { throw .storage("\(name) was not written") }
        return try outcome.get()
    }

    /// Appends a record, then makes its state visible. After an error nothing is changed.
    private func append(
        _ record: JournalRecord, _ state: TaughtState, _ pictures: [NewExample], _ limits: TeachingLimits,
        _ files: inout Files
    ) throws(TeachingError) {
        let next = TaughtView(state: state, head: head(of: state, &files))
        let length = JournalFile.length(of: record)
        let bytes = length + pictures.reduce(0) { $0 + ($1.picture?.count ?? 0) }
        do throws(TeachingError) {
            try total.take(bytes, limit: limits.bytes)
        } catch {
            guard compact(&files, saving: bytes) else { throw error }
            try total.take(bytes, limit: limits.bytes)
        }
        do throws(TeachingError) {
            try room.hold(JournalFile.mostLength(files.journal.length + length, examples: state.examples.count))
            try KeptPictures.write(pictures, in: folder)
            try files.journal.append(record)
        } catch {
            try? KeptPictures.remove(Set(pictures.map(\.id)), in: folder)
            total.change(by: -bytes)
            throw error
        }
        current.withLock { $0 = next }
        compactIfOvergrown(&files, limits)
    }

    // MARK: Compaction

    /// Compacts the journal if it is much larger than the state needs. If that fails, the journal stays as it is, which
    /// is complete.
    private func compactIfOvergrown(_ files: inout Files, _ limits: TeachingLimits) {
        guard files.journal.length > files.lookedAtLength else { return }
        let needed = JournalFile.length(of: JournalRecord.all(of: view.state))
        let maximum = 2 * needed + limits.slack
        guard files.journal.length > maximum else {
            files.lookedAtLength = maximum
            return
        }
        if !compact(&files, saving: 1) { files.lookedAtLength = files.journal.length + maximum }
    }

    /// Writes the state as a new journal, if that saves at least `bytes`.
    /// - Returns: true if it was written.
    private func compact(_ files: inout Files, saving bytes: Int) -> Bool {
        var state = view.state
        state.dropUnusedClasses()
        let records = JournalRecord.all(of: state), before = files.journal.length
        guard before - JournalFile.length(of: records) >= bytes,
            let written = try? JournalFile.write(records, to: files.journal.path, room)
        else { return false }
        files.journal = written.journal
        files.lookedAtLength = 2 * files.journal.length
        total.change(by: files.journal.length - before)
        return true
    }

    /// Compacts a journal that was just opened.
    func compactIfOvergrown() {
        files.withLock { compactIfOvergrown(&$0, limits.withLock { $0 }) }
    }

    /// The maximum size of the journal after rewriting, which is reserved on the disk.
    var mostLength: Int {
        files.withLock { JournalFile.mostLength($0.journal.length, examples: view.state.examples.count) }
    }

    /// The head of a state: the current one, if neither the served examples nor the method change.
    private func head(of state: TaughtState, _ files: inout Files) -> TaughtClassifier? {
        let now = view
        if state.serving == now.state.serving, state.next == now.state.next { return now.head }
        return Self.head(of: state, &files.newest)
    }

    private func forget(_ ids: Set<ExampleID>, label: String?, _ files: inout Files) throws(TeachingError) {
        var state = view.state
        state.forget(ids, label: label, keeping: limits.withLock { $0.versions })
        try rewrite(state, without: ids, &files, usesReserve: true)
        try removeTruncatedEnds()
    }

    /// Rewrites the journal, so that no file contains data that the state no longer has.
    private func rewrite(
        _ state: TaughtState, without ids: Set<ExampleID>, _ files: inout Files, usesReserve: Bool
    ) throws(TeachingError) {
        var newest: NewestExamples?
        let next = TaughtView(state: state, head: Self.head(of: state, &newest))
        let before = Folders.bytes(in: folder)
        defer { total.change(by: Folders.bytes(in: folder) - before) }
        let records = JournalRecord.all(of: state)
        if !usesReserve {
            try room.hold(JournalFile.mostLength(JournalFile.length(of: records), examples: state.examples.count))
        }
        let (journal, unsynced) = try JournalFile.write(
            records, to: files.journal.path, room, usesReserve: usesReserve)
        (files.journal, files.newest, files.lookedAtLength) = (journal, newest, 2 * journal.length)
        current.withLock { $0 = next }
        try KeptPictures.remove(ids, in: folder)
        if let unsynced { throw unsynced }
    }

    /// Removes the kept damaged ends of the journal, because they may contain data that must be forgotten.
    private func removeTruncatedEnds() throws(TeachingError) {
        let before = Folders.bytes(in: folder)
        defer { total.change(by: Folders.bytes(in: folder) - before) }
        try TruncatedEnd.removeAll(in: folder)
    }

    private func check(_ state: TaughtState, _ limits: TeachingLimits) throws(TeachingError) {
        guard state.examples.count <= limits.examples else {
            throw .full(
                "\(name) would have \(state.examples.count) examples: `taught_max_examples` is \(limits.examples); forget some, or raise it"
            )
        }
        let classes = state.counts.count
        guard classes <= limits.classes else {
            throw .full(
                "\(name) would have \(classes) classes: `taught_max_classes` is \(limits.classes); forget some, or raise it"
            )
        }
    }

    /// The result for each picture, and the necessary changes.
    private static func outcomes(
        of examples: [NewExample], in state: TaughtState
    ) -> (outcomes: [Outcome], items: [TaughtChange.Item]) {
        var labels: [ExampleID: String] = [:], names: [ExampleID: String] = [:]
        var outcomes: [Outcome] = [], items: [TaughtChange.Item] = []
        for example in examples {
            let id = example.id
            let known = state.example(id)
            let before = labels[id] ?? known?.label
            let name = example.name == names[id] ?? known?.name ? nil : example.name
            let isMoved = before.map { $0 != example.label } ?? false
            outcomes.append(Outcome(id: id, label: example.label, isNew: before == nil, isMoved: isMoved))
            labels[id] = example.label
            if let name { names[id] = name }
            guard before == nil || isMoved || name != nil else { continue }
            let embedding = before == nil ? example.embedding : nil
            items.append(
                TaughtChange.Item(
                    id: id, label: example.label, embedding: embedding,
                    patches: before == nil ? example.patches : nil, name: name))
        }
        return (outcomes, items)
    }
}
