/// Finds the matches of a pattern, as a backtracking engine would: the leftmost, of these the first alternative. All
/// ways through the pattern are followed together, so that a character costs at most one step for each instruction.
struct PatternMatcher {
    private let program: PatternProgram
    private let table: CharacterTable
    private var now: Threads
    private var later: Threads
    private var stack: [Int] = []

    /// The number of steps that a text may take in all, by character. A search reads beyond its match if a longer one
    /// seems possible; patterns of tokenizers do this for a few characters, and take about ten steps for each.
    private static let maximumSteps = 256

    init(_ program: PatternProgram, _ table: CharacterTable) {
        self.program = program
        self.table = table
        now = Threads(program.instructions.count)
        later = Threads(program.instructions.count)
    }

    /// Calls `body` with each match in a range of the text.
    mutating func forEachMatch(
        in text: [Unicode.Scalar], _ range: Range<Int>, _ body: (Range<Int>) -> Void
    ) throws(TokenizerProblem) {
        var start = range.lowerBound, steps = 0
        let limit = 100_000 + Self.maximumSteps * range.count
        while start < range.upperBound {
            guard let match = first(in: text, start..<range.upperBound, range, &steps) else { return }
            guard steps <= limit else {
                throw .tooLarge("a pattern takes more than \(Self.maximumSteps) steps for each character of a text")
            }
            body(match)
            start = match.upperBound
        }
    }

    /// The first match in `rest`, a part of the searched text up to its end.
    private mutating func first(
        in text: [Unicode.Scalar], _ rest: Range<Int>, _ whole: Range<Int>, _ steps: inout Int
    ) -> Range<Int>? {
        var found: Range<Int>?
        var place = rest.lowerBound
        now.clear()
        while true {
            if found == nil { add(0, start: place, at: place, text, whole, intoLater: false) }
            if now.count == 0, found != nil { break }
            later.clear()
            let character = place < rest.upperBound ? text[place] : nil
            steps += 1 + now.count
            for index in 0..<now.count {
                let (instruction, start) = now[index]
                switch program.instructions[instruction] {
                case .character(let set):
                    guard let character, program.sets[set].contains(character, table) else { continue }
                    add(instruction + 1, start: start, at: place + 1, text, whole, intoLater: true)
                case .end:
                    found = start..<place
                default: continue
                }
                if case .end = program.instructions[instruction] { break }
            }
            swap(&now, &later)
            guard place < rest.upperBound else { break }
            place += 1
        }
        return found
    }

    /// Adds a way through the pattern, after the ways that are preferred to it.
    private mutating func add(
        _ instruction: Int, start: Int, at place: Int, _ text: [Unicode.Scalar], _ whole: Range<Int>, intoLater: Bool
    ) {
        stack.append(instruction)
        while let next = stack.popLast() {
            guard intoLater ? later.visit(next) : now.visit(next) else { continue }
            switch program.instructions[next] {
            case .character, .end:
                if intoLater { later.append(next, start) } else { now.append(next, start) }
            case .jump(let target): stack.append(target)
            case .fork(let preferred, let other):
                stack.append(other)
                stack.append(preferred)
            case .lookahead(let set, let isNegative):
                let holds = place < whole.upperBound && program.sets[set].contains(text[place], table)
                if holds != isNegative { stack.append(next + 1) }
            case .lineStart:
                if place == whole.lowerBound || text[place - 1] == "\n" { stack.append(next + 1) }
            case .lineEnd:
                if place == whole.upperBound || text[place] == "\n" { stack.append(next + 1) }
            }
        }
    }

    /// Ways through the pattern in the order of preference: the next instruction of each, and the start of its match.
    private struct Threads {
        private var instructions: [Int32]
        private var starts: [Int]
        /// By instruction the round in which it was visited last.
        private var visits: [Int]
        private var round = 0
        private(set) var count = 0

        init(_ size: Int) {
            instructions = [Int32](repeating: 0, count: size)
            starts = [Int](repeating: 0, count: size)
            visits = [Int](repeating: -1, count: size)
        }

        subscript(index: Int) -> (instruction: Int, start: Int) { (Int(instructions[index]), starts[index]) }

        mutating func clear() {
            count = 0
            round += 1
        }

        /// False if the instruction was visited already in this round.
        mutating func visit(_ instruction: Int) -> Bool {
            guard visits[instruction] != round else { return false }
            visits[instruction] = round
            return true
        }

        mutating func append(_ instruction: Int, _ start: Int) {
            instructions[count] = Int32(instruction)
            starts[count] = start
            count += 1
        }
    }
}
