internal import Glibc

/// The kept pictures of a taught model: files named by their digests.
package enum KeptPictures {
    private static func folder(_ model: String) -> String { model + "/pictures" }

    /// Writes the pictures of examples that have one. Each file is complete or missing.
    static func write(_ examples: [TaughtModel.NewExample], in model: String) throws(TeachingError) {
        guard examples.contains(where: { $0.picture != nil }) else { return }
        let folder = folder(model)
        try Folders.create(folder)
        for example in examples {
            guard let picture = example.picture else { continue }
            let path = "\(folder)/\(example.id)"
            let file = try Descriptor(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC)
            try file.write(picture)
            try file.sync()
            try Folders.rename(path + ".new", path)
        }
        // Without this, a power failure could take the folder of the first pictures.
        try Folders.sync(model)
    }

    /// Removes pictures; missing ones count as removed.
    static func remove(_ ids: Set<ExampleID>, in model: String) throws(TeachingError) {
        var problem: TeachingError?
        for id in ids {
            for ending in ["", ".new"] {
                do throws(TeachingError) { try Folders.remove("\(folder(model))/\(id)\(ending)") } catch {
                    problem = error
                }
            }
        }
        if let problem { throw problem }
    }

    /// Removes files without an example, which remain if a kill came between two steps.
    static func clean(_ state: TaughtState, in model: String) throws(TeachingError) {
        guard access(folder(model), F_OK) == 0 else { return }
        for name in try Folders.names(in: folder(model)) {
            if let id = ExampleID(name), state.example(id) != nil { continue }
            try Folders.remove("\(folder(model))/\(name)")
        }
    }

    /// The bytes of a kept picture; nil if it is not kept.
    static func read(_ id: ExampleID, in model: String) throws(TeachingError) -> [UInt8]? {
        let path = "\(folder(model))/\(id)"
        guard access(path, F_OK) == 0 else { return nil }
        let file = try Descriptor(path, O_RDONLY | O_CLOEXEC)
        return try file.read(try file.size())
    }
}
