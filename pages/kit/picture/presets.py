"""The sentences that are one click away: from the texts that Headlight grew out of, and Winograd's classic pair."""

PRESETS = (
    "The animal didn't cross the street because it was too tired",
    "The animal didn't cross the street because it was too wide",
    "can you can that",
    "how are you",
    "you how are",
    "orange is my favorite fruit",
)

# for a model that says what comes next: the text, and the head of SmolLM2 that shows how, as `at` of a link
CONTINUED = {
    "Mr Dursley of number four Privet Drive said hello. Then Mr Dursley of number four Privet": "18.6",  # it copies
    "The animal didn't cross the street because it": "13.8",  # it → animal
    "The capital of France is": "23.4",  # is → France
    "Monday, Tuesday, Wednesday, Thursday,": "9.0",  # the day before the comma
    "She wrote (in very small letters": "26.6",  # the bracket that is open
    "When Mary and John went to the store, John gave a drink to": "24.4",  # to → Mary
}
