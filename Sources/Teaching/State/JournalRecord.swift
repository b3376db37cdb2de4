/// The name of a known example.
struct ExampleName: Equatable {
    let id: ExampleID
    let name: String
}

/// An entry of a taught model's journal. The entries, read in order, give the state of the model.
enum JournalRecord: Equatable {
    /// The first record.
    case created(Embedder, dimension: Int, MethodChoice, PatchGrid?)
    /// Examples with their history. A journal that was rewritten begins with these records.
    case examples([Example])
    /// The versions of such a journal, the served version, and the number of the next version. Left-out scores, of
    /// which each version has many, are in records of their own.
    case versions([TaughtVersion], serving: Int, next: Int)
    /// A new version.
    case change(TaughtChange)
    /// The evaluation of a version.
    case evaluated(Int, Evaluation)
    /// Another version is served.
    case served(Int)
    /// Known examples have other names. It makes no version.
    case named([ExampleName])

    /// The state as the first records of a new journal.
    static func all(of state: TaughtState) -> [JournalRecord] {
        var versions = state.versions, scores: [JournalRecord] = []
        for index in versions.indices where versions[index].evaluation?.leftOut != nil {
            if let evaluation = versions[index].evaluation {
                scores.append(.evaluated(versions[index].number, evaluation))
            }
            versions[index].evaluation = nil
        }
        return [.created(state.embedder, dimension: state.dimension, state.choice, state.grid)] + pieces(of: state)
            + [.versions(versions, serving: state.serving, next: state.next)] + scores
    }

    /// The examples in records of at most 256, and of few megabytes if they have patches.
    private static func pieces(of state: TaughtState) -> [JournalRecord] {
        var pieces: [JournalRecord] = [], piece: [Example] = [], bytes = 0
        for example in state.examples {
            piece.append(example)
            bytes += example.patches.map { $0.count * $0.width * 2 } ?? 0
            guard piece.count == 256 || bytes >= pieceLength else { continue }
            pieces.append(.examples(piece))
            (piece, bytes) = ([], 0)
        }
        return piece.isEmpty ? pieces : pieces + [.examples(piece)]
    }

    /// The number of bytes of patches from which a record of examples is complete.
    static let pieceLength = 1 << 22

    /// Applies the record to a state. Returns false if the record does not fit. Keeps all versions: a later record may
    /// refer to one that was kept when it was written (``TaughtState/keepVersions(_:)``).
    func apply(to state: inout TaughtState?) -> Bool {
        if case .created(let embedder, let dimension, let choice, let grid) = self {
            guard state == nil else { return false }
            state = TaughtState(embedder: embedder, dimension: dimension, choice: choice, grid: grid)
            return true
        }
        return state?.apply(self, keeping: .max) ?? false
    }
}

extension TaughtState {
    /// Applies a record. Returns false if it does not fit.
    mutating func apply(_ record: JournalRecord, keeping: Int) -> Bool {
        switch record {
        case .created: return false
        case .examples(let more):
            guard more.allSatisfy({ fits($0.embedding, $0.patches) }) else { return false }
            if let last = examples.last, let first = more.first, !(last.id < first.id) { return false }
            guard zip(more, more.dropFirst()).allSatisfy({ $0.id < $1.id }) else { return false }
            for example in more { examples[example.id] = example }
        case .versions(let list, let serving, let next):
            (versions, self.serving, self.next) = (list, serving, next)
        case .change(let change):
            // A request may teach a picture, and give it another class or name.
            var taught: Set<ExampleID> = []
            let isWhole = change.items.allSatisfy { item in
                guard let embedding = item.embedding else { return taught.contains(item.id) || example(item.id) != nil }
                taught.insert(item.id)
                return fits(embedding, item.patches)
            }
            guard isWhole else { return false }
            apply(change, keeping: keeping)
        case .evaluated(let number, let evaluation):
            guard let index = versions.lastIndex(where: { $0.number == number }) else { return true }
            versions[index].evaluation = evaluation
        case .served(let number):
            guard version(number) != nil else { return false }
            serving = number
        case .named(let names):
            guard names.allSatisfy({ example($0.id) != nil }) else { return false }
            for one in names { examples.rename(one.id, one.name) }
        }
        return true
    }
}
