"""Sentences of ours in which a word belongs to another one: at several distances, so that no fixed one finds it."""

# What the lesson says that heads focus on -> sentences, each with a word and the one that belongs to it: a pronoun and
# whom it stands for, a thing and the word that judges it, a verb and its subject.
SOUGHT: dict[str, tuple[tuple[str, str, str], ...]] = {
    "relationships": (
        ("anna lost the key because she was tired", "she", "anna"),
        ("the animal did not cross the street because it was tired", "it", "animal"),
        ("peter told the doctor that he was ill", "he", "peter"),
        ("the queen said to the boy that she was angry", "she", "queen"),
        ("the children ran home when they heard the rain", "they", "children"),
        ("my sister sold the car although she liked driving", "she", "sister"),
        ("the king opened the door and he smiled", "he", "king"),
        ("the cat slept all day and then it ate", "it", "cat"),
        ("the nurse gave the man a chair because he was weak", "he", "man"),
        ("mary left the house before she read the letter", "she", "mary"),
        ("the soldiers crossed the river and they slept", "they", "soldiers"),
        ("john bought the dog since it was friendly", "it", "dog"),
    ),
    "sentiment": (
        ("the food was good but the service was poor", "food", "good"),
        ("the food was good but the service was poor", "service", "poor"),
        ("the service was awful but the food was lovely", "food", "lovely"),
        ("the service was awful but the food was lovely", "service", "awful"),
        ("we had a wonderful evening and a terrible night", "evening", "wonderful"),
        ("we had a wonderful evening and a terrible night", "night", "terrible"),
        ("the room that we rented was small and nasty", "room", "nasty"),
        ("a pleasant walk and then a dreadful dinner", "dinner", "dreadful"),
        ("a boring book with a brilliant end", "book", "boring"),
        ("a boring book with a brilliant end", "end", "brilliant"),
        ("the weather was lovely although the hotel was ugly", "weather", "lovely"),
        ("the weather was lovely although the hotel was ugly", "hotel", "ugly"),
    ),
    "subject": (
        ("the dog chased the cat", "chased", "dog"),
        ("the dog suddenly chased the cat", "chased", "dog"),
        ("the dog in the garden chased the cat", "chased", "dog"),
        ("the girl with the red hat opened the door", "opened", "girl"),
        ("the teacher of the children visited the king", "visited", "teacher"),
        ("the farmer and his wife sold the horse", "sold", "farmer"),
        ("the queen never really liked the doctor", "liked", "queen"),
        ("yesterday the boy behind the tree called the fox", "called", "boy"),
        ("the bird on the roof of the house sang a song", "sang", "bird"),
        ("my old uncle always told the same story", "told", "uncle"),
        ("after the rain the workers slowly left the field", "left", "workers"),
        ("the letter that she wrote reached the judge", "reached", "letter"),
    ),
}
