internal import SystemSupport

/// The names of files that a command writes for pictures: that of the picture, with a number where another picture of
/// the run has it.
struct PictureNames {
    private var taken: Set<String> = []

    /// The next picture's name, which no other gets. "-" is standard input.
    mutating func next(for file: String) -> String {
        let base = file == "-" ? "stdin" : FilePath.name(of: file) ?? "picture"
        var name = base, number = 1
        while !taken.insert(name).inserted {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }
}
