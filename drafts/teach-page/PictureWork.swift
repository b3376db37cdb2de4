internal import Inference
internal import InferenceService
internal import SystemSupport
internal import Teaching

/// Work on many pictures, a few at a time: no more are read or held than the model has slots.
enum PictureWork {
    /// A picture's bytes, and their digest.
    struct Bytes: Sendable {
        let bytes: [UInt8]
        let id: ExampleID
    }

    /// What became of a picture: a result, or the sentence and code of its failure.
    enum Outcome<Value: Sendable>: Sendable {
        case done(Value)
        case failed(String, code: String)
    }

    /// The outcomes, in the order of the pictures.
    /// - Parameter most: bytes that a picture may have.
    static func run<Value: Sendable>(
        _ pictures: [ClassFolders.Picture], model: Model, most: Int, progress: (String) -> Void,
        _ work: @escaping @Sendable (Bytes) async throws -> Value
    ) async -> [Outcome<Value>] {
        struct Numbered: Sendable { let index: Int, outcome: Outcome<Value> }
        let width = min(pictures.count, model.limiter.snapshot.limit + 2)
        var outcomes = [Outcome<Value>?](repeating: nil, count: pictures.count)
        await withTaskGroup(of: Numbered.self) { group in
            func start(_ index: Int) {
                let picture = pictures[index].place
                group.addTask { Numbered(index: index, outcome: await outcome(of: picture, most: most, work)) }
            }
            for index in 0..<width { start(index) }
            var next = width, done = 0
            while let one = await group.next() {
                outcomes[one.index] = one.outcome
                done += 1
                progress("\(done) of \(pictures.count): \(pictures[one.index].place.name)")
                if next < pictures.count { start(next) }
                next += 1
            }
        }
        return outcomes.compactMap { $0 }
    }

    private static func outcome<Value: Sendable>(
        of picture: BulkPicture, most: Int, _ work: @Sendable (Bytes) async throws -> Value
    ) async -> Outcome<Value> {
        // The file is read on a thread that may block.
        let read = await LoaderThread.run { () -> Result<Bytes, StartupError> in
            do throws(StartupError) {
                let bytes = try picture.read(most: most)
                return .success(Bytes(bytes: bytes, id: bytes.withUnsafeBytes { ExampleID(of: $0) }))
            } catch {
                return .failure(error)
            }
        }
        do {
            return .done(try await work(try read.get()))
        } catch {
            let code = (error as? InferenceError).map { ServiceError($0).code.rawValue } ?? "bad_request"
            return .failed(LocalClassification.message(of: error), code: code)
        }
    }
}
