"""Weather, as a plain file of functions: the command line makes tools of them.

What you learn: a tool is a function with annotations and a docstring; nothing else is needed, not
even an import of agentloop. The weather is made up and never changes.

    python3 agentloop.py "What is the weather in Paris?" --tools examples/weather_tools.py \\
        --model NAME --base-url http://127.0.0.1:8080/v1
    python3 agentloop.py --schema --tools examples/weather_tools.py   # what a model is sent
    python3 examples/weather_tools.py          # run alone: each tool, and a scripted run

Change and try: write a function of your own below, and look at it with --schema. A name that begins
with an underscore is yours alone: no model sees it.
"""

from typing import List, Literal

_WEATHER = {  # degrees Celsius and sky now, then the sky of the next three days
    "Cairo": (34, "sunny", ["sunny", "sunny", "windy"]),
    "Lima": (19, "fog", ["fog", "cloudy", "cloudy"]),
    "Oslo": (-3, "snow", ["snow", "cloudy", "sunny"]),
    "Paris": (18, "cloudy", ["light rain", "cloudy", "sunny"]),
    "Tokyo": (22, "light rain", ["windy", "sunny", "sunny"]),
}


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> dict:
    """Return the weather in a city now.

    Args:
        city: the city's name in English, for example "Paris".
        unit: the unit of the temperature.
    """
    degrees, sky, _ = _station(city)
    if unit == "fahrenheit":
        degrees = round(degrees * 9 / 5 + 32)
    return {"city": city, "sky": sky, "temperature": degrees, "unit": unit}


def get_forecast(city: str, days: int = 3) -> List[str]:
    """Return the sky of the next days in a city, tomorrow first.

    Args:
        city: the city's name in English, for example "Paris".
        days: how many days, from 1 to 3.
    """
    if not 1 <= days <= 3:
        raise ValueError(f"days has to be from 1 to 3, not {days}")
    return _station(city)[2][:days]


def list_cities() -> List[str]:
    """Return the cities that have a weather station."""
    return sorted(_WEATHER)


def _station(city):
    if city.strip().title() not in _WEATHER:
        raise LookupError(f"no station in {city!r}; there is one in " + ", ".join(list_cities()))
    return _WEATHER[city.strip().title()]


if __name__ == "__main__":  # no main(): the command line would offer it as a tool
    import argparse
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py, one folder up
    import agentloop

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    print("list_cities()        ", list_cities())
    print("get_weather('Paris') ", get_weather("Paris"))
    print("get_forecast('Oslo') ", get_forecast("Oslo"))
    model = agentloop.Scripted(
        [
            agentloop.AgentAction("get_weather", {"city": "Parsi"}),
            agentloop.AgentAction("get_weather", {"city": "Paris"}),
            agentloop.AgentFinish("It is cloudy in Paris, 18 degrees Celsius."),
        ]
    )
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    tools = [get_weather, get_forecast, list_cities]
    try:
        for event in agentloop.stream(model, "What is the weather in Paris?", tools):
            print(event)
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
